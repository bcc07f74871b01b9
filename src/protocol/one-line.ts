/** Node's own: what `util.inspect` shows, and so what a process prints that ends with the error. */
const INSPECT = Symbol.for('nodejs.util.inspect.custom')

/**
 * Makes Node print an error whose sentence says all there is to do as that one line. Below it would stand the stacks of gRPC
 * and of Rust, in which the line is lost; they stay in `stack` and `cause`.
 */
export function showAsOneLine<E extends Error>(error: E): E {
  return Object.defineProperty(error, INSPECT, { value: () => `${error.name}: ${error.message}` })
}
