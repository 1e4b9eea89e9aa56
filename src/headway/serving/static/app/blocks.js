// @ts-check
/** Figure 1 of the paper as data: its blocks from the bottom up, and the tensors of each. */

/**
 * @typedef {object} Block
 * @property {string} id       as the address has it: `decoder.cross_attention`
 * @property {string} word     the key of its text
 * @property {string} kind     which colour: embedding, attention, norm, feed-forward, linear, softmax
 * @property {RegExp} names    its tensors, in any layer
 * @property {boolean} [inLayer]  part of the frame that is repeated N times
 * @property {string} [around]    where the way around its sub-layer begins: id of that sub-layer
 */

const LAYER = "layers\\.\\d+\\.";

/**
 * Return a name's pattern within a stack: `^encoder.layers.3.REST$`.
 * @param {string} stack
 * @param {string} rest
 */
function within(stack, rest) {
  return new RegExp(`^${stack}\\.${LAYER}${rest}$`);
}

/**
 * Return the blocks of a sub-layer with its frame: Add & Norm behind it, or Norm before and Add behind.
 * @param {string} stack
 * @param {string} sublayer
 * @param {string} word
 * @param {boolean} isPre
 * @returns {Block[]}
 */
function framed(stack, sublayer, word, isPre) {
  const mask = sublayer === "self_attention" ? `|^${stack === "encoder" ? "source" : "target"}_mask$` : "";
  const crossMask = sublayer === "cross_attention" ? "|^source_mask$" : "";
  const isAttention = sublayer.endsWith("_attention");
  const id = `${stack}.${sublayer}`;
  /** @type {Block} */
  const own = { id, word, inLayer: true, kind: isAttention ? "attention" : "feed-forward", names: new RegExp(`${within(stack, `${sublayer}\\.\\w+`).source}${mask}${crossMask}`) };
  const residual = `${sublayer}_residual`;
  if (!isPre) {
    return [own, { id: `${id}_residual`, word: "add-norm", inLayer: true, kind: "norm", around: id, names: within(stack, `${residual}\\.\\w+`) }];
  }
  return [
    { id: `${id}_norm`, word: "norm", inLayer: true, kind: "norm", names: within(stack, `${residual}\\.(norm|mean|variance)`) },
    own,
    { id: `${id}_residual`, word: "add", inLayer: true, kind: "norm", around: `${id}_norm`, names: within(stack, `${residual}\\.sum`) },
  ];
}

/**
 * Return the blocks of one side, from its input to its result.
 * @param {"encoder" | "decoder"} stack
 * @param {boolean} isPre
 * @param {"self_attention" | "ssru"} past   the first sub-layer of the decoder
 * @returns {Block[]}
 */
export function blocksOf(stack, isPre, past) {
  const side = stack === "encoder" ? "source" : "target";
  /** @type {Block[]} */
  const below = [
    { id: `${side}_embedding`, word: `${side}-embedding`, kind: "embedding", names: new RegExp(`^${side}_embedding\\.scaled$`) },
    { id: `${side}_position`, word: "position", kind: "position", names: new RegExp(`^${side}_embedding\\.(position|output)$`) },
    { id: `${stack}.input`, word: "layer-input", kind: "wire", inLayer: true, names: within(stack, "input") },
  ];
  const layers = stack === "encoder"
    ? [...framed(stack, "self_attention", "attention", isPre), ...framed(stack, "feed_forward", "feed-forward", isPre)]
    : [
      ...framed(stack, past, past === "ssru" ? "ssru" : "masked-attention", isPre),
      ...framed(stack, "cross_attention", "cross-attention", isPre),
      ...framed(stack, "feed_forward", "feed-forward", isPre),
    ];
  /** @type {Block[]} */
  const above = [
    { id: `${stack}.layer-output`, word: "layer-output", kind: "wire", inLayer: true, names: within(stack, "output") },
    { id: `${stack}.output`, word: isPre ? "last-norm" : `${stack}-output`, kind: isPre ? "norm" : "wire", names: new RegExp(`^${stack}\\.output$`) },
  ];
  if (stack === "decoder") {
    above.push({ id: "linear", word: "linear", kind: "linear", names: /^logits$/ });
    above.push({ id: "softmax", word: "softmax", kind: "softmax", names: /^(log_probs|probabilities)$/ });
  }
  return [...below, ...layers, ...above];
}

/**
 * Return the names of a block in one layer.
 * @param {Block} block
 * @param {Iterable<string>} names
 * @param {number} layer
 */
export function namesOf(block, names, layer) {
  return [...names].filter((name) => {
    const number = /\.layers\.(\d+)\./.exec(name)?.[1];
    return block.names.test(name) && (number === undefined || Number(number) === layer);
  });
}

/**
 * Return a name with another layer's number.
 * @param {string} name
 * @param {number} layer
 */
export function inLayer(name, layer) {
  return name.replace(/\.layers\.\d+\./, `.layers.${layer}.`);
}
