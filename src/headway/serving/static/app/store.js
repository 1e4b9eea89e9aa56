// @ts-check
/** A value that tells its listeners when it changes: the page's one piece of state. */

/** @template {object} T */
export class Store {
  /** @param {T} value */
  constructor(value) {
    /** @type {Readonly<T>} */
    this.value = Object.freeze({ ...value });
    /** @type {Set<(value: Readonly<T>, before: Readonly<T>) => void>} */
    this.listeners = new Set();
  }

  /**
   * Take new values for some of the keys; tell the listeners if any differs.
   * @param {Partial<T>} patch
   * @returns {boolean} whether anything changed
   */
  set(patch) {
    const before = this.value;
    const keys = /** @type {(keyof T)[]} */ (Object.keys(patch));
    if (keys.every((key) => Object.is(before[key], patch[key]))) return false;
    this.value = Object.freeze({ ...before, ...patch });
    for (const listener of this.listeners) listener(this.value, before);
    return true;
  }

  /**
   * Call a listener after each change; what comes back ends that.
   * @param {(value: Readonly<T>, before: Readonly<T>) => void} listener
   * @returns {() => void}
   */
  listen(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
