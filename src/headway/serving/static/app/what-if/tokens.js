// @ts-check
/** Two translations beside each other: which pieces go, which come. */

/** @typedef {{piece: string, sign: "" | "-" | "+"}} Signed */

/**
 * Return both lists of pieces, each with its sign: − where only A has it, + where only B.
 * @param {string[]} a
 * @param {string[]} b
 * @returns {{a: Signed[], b: Signed[]}}
 */
export function diff(a, b) {
  const common = lengths(a, b);
  /** @type {{a: Signed[], b: Signed[]}} */
  const found = { a: [], b: [] };
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      found.a.push({ piece: a[i++], sign: "" });
      found.b.push({ piece: b[j++], sign: "" });
    } else if (j >= b.length || (i < a.length && common[i + 1][j] >= common[i][j + 1])) {
      found.a.push({ piece: a[i++], sign: "-" });
    } else found.b.push({ piece: b[j++], sign: "+" });
  }
  return found;
}

/** Return the length of the longest common subsequence of a from i and b from j. @param {string[]} a @param {string[]} b */
function lengths(a, b) {
  const table = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      table[i][j] = a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    }
  }
  return table;
}

/**
 * Return the pieces of a record's best hypothesis, its end symbol among them.
 * @param {any} record
 * @returns {string[]}
 */
export function piecesOf(record) {
  const found = [];
  for (let node = record.nodes[record.ranking[0]]; node && node.parent !== null; node = record.nodes[node.parent]) {
    if (node.piece !== null) found.unshift(node.piece);
  }
  return found;
}
