/** In every text, argument, result and file of the workflow tests: found in a history, it proves a leak (T5). */
export const MARKER = 'q9zx7marker'

export function marked(text: string): string {
  return `${text} ${MARKER}`
}
