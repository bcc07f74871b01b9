/**
 * What texts of a chaos run have, and no id, name or path: programs and marks of messages, arguments and results, words and
 * nonces of answers, words of prompts and of errors of tools. Bytes of files are not looked for.
 */
const CONTENT = new RegExp(
  [
    String.raw`\[program [^\]]{0,40}`,
    String.raw`<[\w.-]+\.\d+\.\d+>`,
    'Only words #',
    String.raw`\bword\d+ word\d+`,
    String.raw`~[\da-f]{8}-[\da-f-]{27}~`,
    'You (?:lead|work), by the ',
    String.raw`You observe\.`,
    String.raw`You make an outline\.`,
    String.raw`Expected a second try\.`,
  ].join('|'),
)

/** The first words of a conversation within a value, in the bytes of its payloads too; null: none. */
export function contentIn(value: unknown): string | null {
  if (typeof value === 'string') return CONTENT.exec(value)?.[0] ?? null
  if (value instanceof Uint8Array) return contentIn(Buffer.from(value).toString())
  if (typeof value !== 'object' || value === null) return null
  for (const part of Object.values(value)) {
    const found = contentIn(part)
    if (found !== null) return found
  }
  return null
}
