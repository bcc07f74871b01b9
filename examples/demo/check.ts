/** @throws an error with the sentence if the condition does not hold: the demo then fails */
export function check(holds: boolean, sentence: string): void {
  if (!holds) throw new Error(sentence)
}
