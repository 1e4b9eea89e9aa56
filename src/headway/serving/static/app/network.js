// @ts-check
/** The questions that the page asks the program; `app/embedded.js` answers the same from one file. */

/** @typedef {{name: string, letter: string, pieces: "source" | "target" | "reads" | "vocabulary" | null}} AxisEntry */
/** @typedef {{name: string, pattern: string, shape: number[], axes: AxisEntry[], type: string, derived: boolean}} TensorEntry */
/** @typedef {{name: string, kind: "zero" | "replace" | "allow" | "forbid", where?: Record<string, any>, value?: number | null, trace?: string | null}} Edit */

/** What the program says is wrong, in one sentence, and what to do. */
export class Refusal extends Error {
  /**
   * @param {string} message
   * @param {string} remedy
   * @param {number} status
   * @param {string} [code]   what kind of fault it is: a word that stays, whatever the sentence says
   */
  constructor(message, remedy, status, code = "other") {
    super(message);
    this.code = code;
    this.remedy = remedy;
    this.status = status;
  }
}

export class Network {
  /** Whether new questions can be asked; a page in one file only has its answers. */
  interactive = true;

  /** Tell whether a kind of question is answered: the program answers all. @param {string} _ */
  has(_) {
    return true;
  }

  models() {
    return ask("/api/models");
  }

  /** @param {string} model */
  model(model) {
    return ask(`/api/model${query({ model })}`);
  }

  /**
   * Return the pieces along the axis of the vocabulary.
   * @param {string} model
   * @returns {Promise<{target: string[]}>}
   */
  vocabulary(model) {
    return ask(`/api/vocabulary${query({ model })}`);
  }

  /** @param {object} body */
  trace(body) {
    return ask("/api/trace", body);
  }

  /** @param {object} body */
  sentences(body) {
    return ask("/api/sentences", body);
  }

  /** @param {object} body */
  paragraph(body) {
    return ask("/api/paragraph", body);
  }

  /** @param {object} body */
  search(body) {
    return ask("/api/search", body);
  }

  /**
   * Translate, and hear of each step while the search runs.
   * @param {object} body
   * @param {(event: string, data: any) => void} hear
   * @param {AbortSignal} [signal]
   */
  async translate(body, hear, signal) {
    const response = await send("/api/translate", body, signal);
    const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
    const decoder = new TextDecoder();
    let waiting = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      waiting += decoder.decode(value, { stream: true });
      const events = waiting.split("\n\n");
      waiting = events.pop() ?? "";
      for (const event of events) hearEvent(event, hear);
    }
  }

  /**
   * @param {string} id
   * @param {string} name
   * @param {Record<string, number | string>} [where]
   * @returns {Promise<{shape: number[], axes: string[], data: Float32Array | Uint8Array}>}
   */
  async tensor(id, name, where = {}) {
    const response = await send(`/api/traces/${id}/tensors/${name}${query(where)}`);
    const bytes = await response.arrayBuffer();
    const list = (/** @type {string} */ header) =>
      (response.headers.get(header) ?? "").split(",").filter((part) => part !== "");
    const isMask = response.headers.get("X-Type") === "bool";
    return {
      shape: list("X-Shape").map(Number),
      axes: list("X-Axes"),
      data: isMask ? new Uint8Array(bytes) : new Float32Array(bytes),
    };
  }

  /** @param {string} id @param {string} name */
  statistics(id, name) {
    return ask(`/api/traces/${id}/statistics/${name}`);
  }

  /** @param {string} id @param {string} name @param {string} language @param {Record<string, number | string>} where */
  explain(id, name, language, where) {
    return ask(`/api/traces/${id}/explain/${name}${query({ language, ...where })}`);
  }

  /** @param {string} id */
  lens(id) {
    return ask(`/api/traces/${id}/lens`);
  }

  /** @param {string} id @param {string} other */
  compare(id, other) {
    return ask(`/api/traces/${id}/compare`, { other });
  }

  /** @param {string} id @param {number} row */
  ablate(id, row) {
    return ask(`/api/traces/${id}/ablate`, { row });
  }

  /** @param {string} id @param {string} method */
  attribute(id, method) {
    return ask(`/api/traces/${id}/attribute`, { method });
  }

  /** @param {string} id @param {Record<string, any>} options */
  align(id, options) {
    return ask(`/api/traces/${id}/align${query(options)}`);
  }

  /** @param {string} id @param {object} body */
  alignError(id, body) {
    return ask(`/api/traces/${id}/align_error`, body);
  }

  /**
   * Return the positional encoding of the first positions, (length, d_model).
   * @param {number} length
   * @param {string} model
   */
  async position(length, model) {
    const response = await send(`/api/position${query({ length, model })}`);
    return new Float32Array(await response.arrayBuffer());
  }

  /** @param {string} id @param {string} form @param {Record<string, any>} [options] */
  exportAddress(id, form, options = {}) {
    return `/api/traces/${id}/export.${form}${query(options)}`;
  }

  /** @param {string} id @param {string} name @param {string} form */
  downloadAddress(id, name, form) {
    return `/api/traces/${id}/download/${name}.${form}`;
  }

  /** Return a file, and its name. @param {string} address @returns {Promise<{name: string, blob: Blob}>} */
  async file(address) {
    const response = await send(address);
    const [, name] = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") ?? "") ?? ["", "headway"];
    return { name, blob: await response.blob() };
  }
}

/** @param {Record<string, any>} values */
function query(values) {
  const pairs = Object.entries(values).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  const text = new URLSearchParams(pairs.map(([key, value]) => [key, String(value)])).toString();
  return text ? `?${text}` : "";
}

/**
 * @param {string} address
 * @param {object} [body]
 * @returns {Promise<any>}
 */
async function ask(address, body) {
  return (await send(address, body)).json();
}

/**
 * @param {string} address
 * @param {object} [body]
 * @param {AbortSignal} [signal]
 * @returns {Promise<Response>}
 */
async function send(address, body, signal) {
  const options = body === undefined ? {} : {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  };
  const response = await fetch(address, { ...options, signal }).catch((error) => {
    if (signal?.aborted) throw error;
    throw new Refusal(String(error), "", 0, "unreachable");
  });
  if (response.ok) return response;
  const answer = await response.json().catch(() => ({}));
  const error = answer.error ?? { message: `${response.status} ${response.statusText}`, remedy: "" };
  throw new Refusal(error.message, error.remedy ?? "", response.status, error.code);
}

/** @param {string} event @param {(event: string, data: any) => void} hear */
function hearEvent(event, hear) {
  const lines = event.split("\n");
  const name = lines.find((line) => line.startsWith("event:"))?.slice(6).trim() ?? "message";
  const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5)).join("\n");
  const value = JSON.parse(data);
  if (name === "error") throw new Refusal(value.error.message, value.error.remedy ?? "", 400, value.error.code);
  hear(name, value);
}
