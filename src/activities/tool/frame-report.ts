import type { PlanContent, SubpromptContent } from '../../definitions/plan/plan-content.js'
import type { AttachmentRef } from '../../protocol/message.js'
import { failureResult, reasonOf, successResult, withCutNote } from './call-result.js'
import type { CallResult } from './call-result.js'
import type { HeldCall } from './held-call.js'

export interface NestedCall {
  readonly name: string
  /** The arguments as the model wrote them. */
  readonly args: string
  readonly succeeded: boolean
  readonly content: string
  readonly attachments: readonly AttachmentRef[]
}

interface NestedStep {
  readonly text: string
  /** The limit of length truncated the text. */
  readonly isCut: boolean
  readonly attachments: readonly AttachmentRef[]
  readonly calls: readonly NestedCall[]
  /** The result comes with new files. */
  readonly hasNewFiles?: boolean
}

type Shown = Pick<SubpromptContent, 'includeTextResponse' | 'includeToolCalls' | 'includeErrors'>

const NOTHING = 'The call succeeded. There is nothing to report.'
const FILES_ONLY = 'The call succeeded. Its result is in the attached files.'

/**
 * The result of a prompt tool's nested step: its text, its calls with their results, and all files. One failed call makes
 * the result an error without the text, because the model wrote the text before the call failed.
 */
export function frameReport(shown: Shown, step: NestedStep): CallResult {
  const failures = step.calls.filter((call) => !call.succeeded)
  const attachments = [...step.attachments, ...step.calls.flatMap((call) => call.attachments)]
  if (failures.length > 0)
    return failureResult(failureText(shown, step.calls, failures), 'nested_tool_failed', { attachments })
  const words = shown.includeTextResponse ? textWithNote(step) : ''
  const calls = shown.includeToolCalls && step.calls.length > 0 ? callsText(step.calls) : ''
  const content = [words, calls].filter((part) => part !== '').join('\n\n')
  const hasFiles = attachments.length > 0 || step.hasNewFiles === true
  return successResult(content || (hasFiles ? FILES_ONLY : NOTHING), { attachments })
}

function textWithNote({ text, isCut }: NestedStep): string {
  const content = text.trim()
  return content === '' ? '' : withCutNote({ content, isCut })
}

function callsText(calls: readonly NestedCall[]): string {
  const lines = calls.map(({ name, args, content }) => `${name}(${args.trim()}):\n${content}`)
  return ['Tool calls and their results:', ...lines].join('\n\n')
}

function failureText(
  { includeErrors }: Shown,
  calls: readonly NestedCall[],
  failures: readonly NestedCall[],
): string {
  const others = calls.filter((call) => call.succeeded).map(({ name }) => name)
  const listed = failures.map(({ name, content }) => (includeErrors ? `${name}: ${reasonOf(content)}` : name))
  const also = others.length === 0 ? '' : `\nOther tools that were called: ${others.join(', ')}.`
  return `${failures.length} of ${calls.length} tool calls failed.\n${listed.join('\n')}${also}`
}

/** The entry of a called prompt in its caller. A prompt that code has queued has no entry, so all of it is shown. */
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
