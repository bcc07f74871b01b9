import type { PromptContent } from '../../definitions/plan-content.js'

/** The words of a system text, whose parts are joined without separators. */
export function systemText(parts: PromptContent['system']): string {
  return parts.map((part) => (part.type === 'text' ? part.content : '')).join('')
}
