/** Arguments of the lifecycle tools of subagents, as a model wrote them. */
type Fields = Readonly<Record<string, unknown>>

/** A text that says something; null for anything else. */
export function givenText(fields: Fields, name: string): string | null {
  const text = fields[name]
  return typeof text === 'string' && text.trim() !== '' ? text : null
}

/** The list `attachments`, empty where it was left out; null for anything but paths. */
export function givenPaths({ attachments = [] }: Fields): readonly string[] | null {
  if (!Array.isArray(attachments)) return null
  return attachments.every((path) => typeof path === 'string') ? [...new Set(attachments)] : null
}
