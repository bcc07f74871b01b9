import type { SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { CallModelInput } from '../../protocol/activities.js'
import type { PlanContent, PromptContent } from '../../definitions/plan-content.js'
import { assemblePrompt } from '../../model/context/assemble-prompt.js'
import { toolConfiguration } from '../../model/context/tool-configuration.js'
import type { RequestOrigin } from '../../model/scripted-request.js'
import type { ModelRequest } from '../../model/stream-answer.js'
import type { TranscriptMessage } from '../../store/message-row.js'
import { visibleRows } from './visible-rows.js'

interface RequestParts {
  readonly input: CallModelInput
  readonly content: PlanContent
  readonly prompt: PromptContent & { readonly name: string }
  readonly transcript: readonly TranscriptMessage[]
}

/** Phase 2: what the provider gets. The same rows always give the same bytes, and new rows only append (T12). */
export function modelRequest({ input, content, prompt, transcript }: RequestParts): {
  readonly options: ModelRequest
  readonly messages: number
  readonly tools: number
} {
  const messages = visibleRows(transcript, prompt, input.run)
  const perspective = { type: content.plan.type, side: input.side }
  const tools = content.models[prompt.model]?.supportsToolCalls === false ? [] : prompt.tools
  const origin: RequestOrigin = { prompt: prompt.name, side: input.side, threadId: input.threadId }
  const providerOptions: SharedV4ProviderOptions = {
    ...overridden(content.models[prompt.model]?.providerOptions, prompt.providerOptions),
    everthread: { ...origin },
  }
  const options: ModelRequest = {
    prompt: assemblePrompt({ system: systemText(prompt.system), messages, perspective }),
    providerOptions,
    ...(tools.length === 0
      ? {}
      : { tools: toolConfiguration(tools), toolChoice: { type: prompt.toolChoice } }),
  }
  return { options, messages: messages.length, tools: tools.length }
}

/** Those of the model, overridden by those of the prompt. */
function overridden(
  model: SharedV4ProviderOptions = {},
  prompt: SharedV4ProviderOptions = {},
): SharedV4ProviderOptions {
  const providers = new Set([...Object.keys(model), ...Object.keys(prompt)])
  return Object.fromEntries([...providers].map((key) => [key, { ...model[key], ...prompt[key] }]))
}

function systemText(parts: PromptContent['system']): string {
  return parts.map((part) => (part.type === 'text' ? part.content : '')).join('')
}
