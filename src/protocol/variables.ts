import { LIMITS } from './limits.js'

/** Says what keeps a text from being the name of a variable, or nothing. */
export function variableNameProblem(name: unknown): string | undefined {
  const expected = `Expected the name of a variable to be a text of 1 to ${LIMITS.nameLength} characters without control characters`
  if (typeof name !== 'string') return `${expected}, got ${name === null ? 'null' : `a ${typeof name}`}.`
  if (name.length === 0 || name.length > LIMITS.nameLength) return `${expected}, got one of ${name.length}.`
  return /\p{Cc}/u.test(name) ? `${expected}, got one with such a character.` : undefined
}

/** Says what keeps something from being a variable's value, or nothing; never shows it. An empty text is a value. */
export function variableValueProblem(name: string, value: unknown): string | undefined {
  if (typeof value !== 'string')
    return `Expected the value of the variable "${name}" to be a text, got ${value === null ? 'null' : `a ${typeof value}`}.`
  const bytes = new TextEncoder().encode(value).byteLength
  if (bytes <= LIMITS.variableBytes) return undefined
  return `Expected the value of the variable "${name}" to have at most ${LIMITS.variableBytes} bytes, got ${bytes}: write it to a file.`
}
