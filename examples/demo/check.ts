/** @throws the sentence, which is what a demo that does not hold its promise says */
export function check(holds: boolean, sentence: string): void {
  if (!holds) throw new Error(sentence)
}
