/**
 * PostgreSQL's text cannot hold the zero character, which models and people may send: it is stored as a code point that
 * Unicode will never assign, with a digit behind it, and so is that code point itself.
 */
const ESCAPE = '\uFDD0'

export function encodeText(text: string): string {
  if (!text.includes('\0') && !text.includes(ESCAPE)) return text
  return text.replaceAll(ESCAPE, `${ESCAPE}1`).replaceAll('\0', `${ESCAPE}0`)
}

export function decodeText(text: string): string {
  if (!text.includes(ESCAPE)) return text
  return text.replaceAll(`${ESCAPE}0`, '\0').replaceAll(`${ESCAPE}1`, ESCAPE)
}
