import type { PlanContent, SubpromptContent } from '../../definitions/plan-content.js'
import type { HeldCall } from './begin-call.js'

/** How the prompt that made a call lists the prompt it calls; one queued by code is listed by none. */
export function subpromptOf(
  content: PlanContent,
  { holder, row }: Pick<HeldCall, 'holder' | 'row'>,
  prompt: string,
): SubpromptContent {
  const unlisted = { prompt, includeTextResponse: true, includeToolCalls: true, includeErrors: true }
  const caller = holder.prompt
  const subprompts =
    caller !== null && Object.hasOwn(content.prompts, caller)
      ? content.prompts[caller]?.subprompts
      : undefined
  return subprompts !== undefined && Object.hasOwn(subprompts, row.name)
    ? (subprompts[row.name] ?? unlisted)
    : unlisted
}
