import type { LanguageModelV4Prompt } from '@ai-sdk/provider'

import { kindOf } from '../thread-state/strict-json.js'
import { asFields } from './accept-message.js'
import { InvalidAnswer } from './hook-failure.js'

const ROLES: readonly unknown[] = ['system', 'user', 'assistant', 'tool']

/**
 * A whole request, as it goes to the provider. Calls and results stay together: providers refuse one without the other
 * (K-17), and here nobody pairs them any more. @throws InvalidAnswer
 */
export function acceptRequest(answer: unknown): LanguageModelV4Prompt | undefined {
  if (answer === undefined || answer === null) return undefined
  if (!Array.isArray(answer)) throw new InvalidAnswer(`Expected a list of messages, got ${kindOf(answer)}.`)
  if (answer.length === 0)
    throw new InvalidAnswer('Expected a request with a message in it, got an empty list.')
  const calls: unknown[] = []
  const results: unknown[] = []
  for (const [index, given] of answer.entries()) {
    for (const part of partsOf(asFields(given, `messages[${index}]`), index)) {
      if (part['type'] === 'tool-call') calls.push(part['toolCallId'])
      if (part['type'] === 'tool-result') results.push(part['toolCallId'])
    }
  }
  const alone = [
    ...calls.filter((id) => !results.includes(id)),
    ...results.filter((id) => !calls.includes(id)),
  ]
  if (alone.length > 0)
    throw new InvalidAnswer(`Expected each tool call with its result, got ${alone.length} of them alone.`)
  // Looked at above as far as it matters here: the boundary to the hook.
  return answer as LanguageModelV4Prompt
}

function partsOf(
  { role, content }: { readonly [field: string]: unknown },
  index: number,
): readonly { readonly [field: string]: unknown }[] {
  if (!ROLES.includes(role))
    throw new InvalidAnswer(`Expected messages[${index}] to have a role of ${ROLES.join(', ')}.`)
  if (role === 'system' ? typeof content !== 'string' : !Array.isArray(content))
    throw new InvalidAnswer(
      `Expected content of messages[${index}] to be ${role === 'system' ? 'a text' : 'a list of parts'}.`,
    )
  if (!Array.isArray(content)) return []
  return content.map((part: unknown) => asFields(part, `content of messages[${index}] as a list of parts`))
}
