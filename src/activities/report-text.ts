/** What a parent reads of a child: the exact wording of Standard Agents. */
export function resultText(reference: string, text: string): string {
  return `Subagent (reference: ${reference}) has returned the following result:\n${text}`
}

export function failureText(reference: string, text: string): string {
  return `Subagent (reference: ${reference}) has reported a failure:\n${text}`
}
