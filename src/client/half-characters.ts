/**
 * Says that an id or name has half a character, or nothing. No database and no server keeps one as it is: the row would have
 * another id than the one that was given.
 */
export function halfCharacterProblem(what: string, text: unknown): string | undefined {
  if (typeof text !== 'string' || !/\p{Surrogate}/u.test(text)) return undefined
  return `Expected ${what} of whole characters, got half of one, as slice() leaves it in the middle of an emoji.`
}
