/**
 * The nested step of a prompt tool: its call, and the message that its model reads.
 * Owns: the check of the arguments, the beginning of the call, and its refusal.
 * Does not own: the model call of the nested step (`call-model.ts`), and its result (`tool/`).
 */
import { randomUUID } from 'node:crypto'

import { toInputSchema } from '../../definitions/plan/argument-schema.js'
import type { PlanContent } from '../../definitions/plan/plan-content.js'
import { parseArguments } from '../../definitions/plan/tool-arguments.js'
import type { CallModelAnswer, CallModelInput, Frame, ResultAnswer } from '../../protocol/activities.js'
import type { AttachmentRef } from '../../protocol/message.js'
import { holderOfCall } from '../../store/calls/open-calls.js'
import type { ActivityDependencies } from '../activity.js'
import { filesAt } from '../attachments.js'
import { withoutHooks } from '../hooks/hook-batch.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { stepBatch } from '../hooks/step-batch.js'
import { promptOf } from '../../definitions/plan/plan-content.js'
import { waitForDefinition } from '../plan-content.js'
import { callScope } from '../scope.js'
import type { HeldInput } from '../scope.js'
import { failureResult } from '../tool/call-result.js'
import type { CallResult } from '../tool/call-result.js'
import { commitDenial, commitResult } from '../tool/commit-result.js'
import { subpromptOf } from '../tool/frame-report.js'
import { beginCall } from '../tool/held-call.js'
import type { HeldCall } from '../tool/held-call.js'
import { permitOfName } from '../tool/permit.js'
import type { Permit } from '../tool/judge-permit.js'
import { readMappedPaths, readMappedText } from '../tool/tool-values.js'

/** The input of a prompt tool's nested step. */
interface FrameBeginning {
  /** The user message of its context, which is not a row of the transcript. */
  readonly message: { readonly text: string; readonly attachments: readonly AttachmentRef[] } | null
  /** Parsed, with defaults applied. */
  readonly args: Record<string, unknown>
  /** The id reserved for the row of the call's result, which is the parent of the frame's rows. */
  readonly parentId: string
}

export type BegunFrame =
  | { readonly kind: 'answered'; readonly answer: CallModelAnswer }
  | ({ readonly kind: 'begun' } & FrameBeginning)

/**
 * Begins the call of a prompt tool, together with the model call of its frame: checks the arguments before a model
 * reads them, and marks the call as `started`, with its event. It is the first transaction of that activity, so it
 * stores the workflow's facts. A retry returns the same. A call that cannot be made, or that has its result, is
 * answered at once.
 */
export async function beginFrame(
  dependencies: ActivityDependencies,
  input: CallModelInput,
  content: PlanContent,
): Promise<BegunFrame> {
  const { store } = dependencies
  const { frame: asked } = input
  if (asked === null) throw new Error('Expected the input of a nested step, got that of a step.')
  const { callId, prompt } = asked
  const given = toHeldInput(input, asked)
  const resultId = randomUUID()
  const { response = null } = input
  const deciding = await decidingHooks(dependencies, { given, input, content })
  const permit = await permitOfPrompt(dependencies, { input, frame: asked, content, hooks: deciding })
  const begun = await beginCall(store, given, {
    ...{ id: callId, onInterrupted: 'rerun', resultId, response, permit },
    called: { kind: 'prompt', mode: dependencies.permissionMode },
    charged: { dependencies, content },
  })
  if (begun.kind === 'answered') {
    const { answer } = begun
    return { kind: 'answered', answer: answer.type === 'result' ? refusal(answer) : answer }
  }
  const { call } = begun
  if (begun.kind === 'denied') {
    const ending = {
      denied: begun.denied,
      response,
      hooks: hooksOfCaller(dependencies, call, { input, content }),
    }
    return { kind: 'answered', answer: refusal(await commitDenial(store, call, ending)) }
  }
  const frame = await prepareFrame(dependencies, call, { content, prompt })
  if (frame.kind === 'begun') return { ...frame, parentId: call.operation.messageId ?? resultId }
  const hooks = hooksOfCaller(dependencies, call, { input, content })
  return { kind: 'answered', answer: refusal(await commitResult(store, call, frame.result, { hooks })) }
}

interface Called {
  readonly input: CallModelInput
  readonly content: PlanContent
}

/** The hooks that decide about the call: those of the prompt whose answer contains it. */
async function decidingHooks(
  dependencies: ActivityDependencies,
  { given, input, content }: Called & { readonly given: HeldInput },
): Promise<HookBatch> {
  if (!Object.values(content.prompts).some(({ deciding }) => deciding !== undefined)) return withoutHooks()
  const { threadId, callId } = given
  const holder = await dependencies.store.read((db) => holderOfCall(db, threadId, callId))
  return hooksOfCaller(dependencies, { holder, scope: callScope(given), input: given }, { input, content })
}

/** What the policy says about a call of this prompt. */
function permitOfPrompt(
  dependencies: ActivityDependencies,
  {
    input,
    frame: { callId, prompt },
    content,
    hooks,
  }: Called & { readonly frame: Frame; readonly hooks: HookBatch },
): Promise<Permit | null> {
  const definition = dependencies.registry.prompt(prompt)
  const planned = Object.hasOwn(content.prompts, prompt) ? content.prompts[prompt] : undefined
  const { capabilities } = planned ?? definition ?? {}
  const { toolDescription: description, requiredSchema: schema } = definition ?? {}
  return permitOfName(dependencies, {
    ...{ input: { ...input, callId }, content, hooks, kind: 'prompt' },
    isProtected: capabilities !== undefined,
    capabilitiesOf: () => capabilities,
    describe: () => ({
      ...(description === undefined ? {} : { description }),
      ...(schema === undefined ? {} : { schema: toInputSchema(schema) }),
    }),
  })
}

/** The hooks of the prompt whose answer contains the call. */
function hooksOfCaller(
  dependencies: ActivityDependencies,
  { holder, scope, input: { callId } }: Pick<HeldCall, 'holder' | 'scope' | 'input'>,
  { input, content }: Called,
): HookBatch {
  const maker = holder.prompt === null ? undefined : content.prompts[holder.prompt]
  const {
    name,
    hooks: ids,
    deciding,
  } = holder.prompt === null || maker === undefined
    ? promptOf(content, input.side)
    : { ...maker, name: holder.prompt }
  const about = { ids, deciding, promptPath: [name], name: `result_${callId}`, scope }
  return stepBatch(dependencies, { input, content, ...about, recordsMissing: true })
}

function refusal(result: ResultAnswer): CallModelAnswer {
  return { type: 'refused', result }
}

/** The input without phase 5: the workflow has emitted it, and a queued tool belongs to no step. */
function toHeldInput({ threadId, run, step, side, now, facts }: CallModelInput, frame: Frame): HeldInput {
  const { callId, last = false } = frame
  return { threadId, callId, run, step, side, now, facts, queued: false, first: false, last }
}

type PreparedFrame =
  | ({ readonly kind: 'begun' } & Omit<FrameBeginning, 'parentId'>)
  | { readonly kind: 'refused'; readonly result: CallResult }

async function prepareFrame(
  { registry, store }: ActivityDependencies,
  call: HeldCall,
  { content, prompt }: { readonly content: PlanContent; readonly prompt: string },
): Promise<PreparedFrame> {
  const definition = registry.prompt(prompt)
  if (definition === undefined) {
    waitForDefinition(`prompt "${prompt}"`)
    return refuseFrame(`The prompt "${prompt}" is not available at the moment.`, 'unknown_tool')
  }
  const parsed = parseArguments(definition.requiredSchema, call.row.arguments)
  if (!parsed.ok) return refuseFrame(parsed.problem, 'invalid_arguments')
  const { args } = parsed
  const binding = subpromptOf(content, call, prompt)
  const paths = readMappedPaths(args, binding.initAttachmentsProperty)
  if (typeof paths === 'string') return refuseFrame(paths, 'invalid_arguments')
  const attachments = await store.read((db) => filesAt(db, call.input.threadId, paths))
  if (typeof attachments === 'string') return refuseFrame(attachments, 'invalid_attachment')
  const text = readMappedText(args, binding.initUserMessageProperty) ?? allArguments(args)
  const message = text === '' && attachments.length === 0 ? null : { text, attachments }
  return { kind: 'begun', message, args }
}

/** If no property is mapped to the message, all arguments become the message. */
function allArguments(args: Record<string, unknown>): string {
  return Object.keys(args).length === 0 ? '' : JSON.stringify(args)
}

function refuseFrame(reason: string, errorCode: string): PreparedFrame {
  return { kind: 'refused', result: failureResult(reason, errorCode) }
}
