// Calling the worker, and replacing it with a new one.

/** The error of a call that failed because the user cancelled it, another file was opened, or the worker stopped. */
export class Cancelled extends Error {}

/** The worker, and the calls that it has not answered yet. */
export class Client {
  #worker = null;
  #calls = new Map();
  #next = 1;
  #input = null;

  /** `onbusy(isBusy)` is called with true when the first call begins, and with false when the last one ends. */
  constructor({ onbusy, onprogress }) {
    this.onbusy = onbusy;
    this.onprogress = onprogress;
    this.#start();
  }

  #start() {
    this.#worker = new Worker("worker.js", { type: "module" });
    this.#worker.onmessage = ({ data }) => this.#receive(data);
    this.#worker.onerror = (event) => this.#restart(event.message || "The worker cannot be started.");
  }

  #receive({ id, result, error, isBroken, progress }) {
    if (progress) return this.onprogress(progress);
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    if (error === undefined) call?.resolve(result);
    else call?.reject(new Error(isBroken ? `The file cannot be read: ${error}.` : error));
    if (isBroken) this.#restart("The reader stopped unexpectedly and was restarted.");
    if (this.#calls.size === 0) this.onbusy(false);
  }

  /** Starts a new worker, which opens the same file. */
  #restart(reason) {
    this.#worker.terminate();
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    calls.forEach((call) => call.reject(new Cancelled(reason)));
    this.onbusy(false);
    this.#start();
    if (this.#input) this.call("open", this.#input).catch(() => {});
  }

  /** Calls a method of the worker, and returns a promise of the result. */
  call(method, ...values) {
    return new Promise((resolve, reject) => {
      const id = this.#next++;
      if (this.#calls.size === 0) this.onbusy(true);
      this.#calls.set(id, { resolve, reject });
      this.#worker.postMessage({ id, method, values });
    });
  }

  /** Opens `{files}` or `{url}` in a new worker, so that the memory used for the previous file is freed. */
  async open(input) {
    this.#input = null;
    this.#restart("Another file was opened.");
    const about = await this.call("open", input);
    this.#input = input;
    return about;
  }

  /** Cancels all calls, and opens the same file again. */
  cancel() {
    this.#restart("Cancelled.");
  }
}
