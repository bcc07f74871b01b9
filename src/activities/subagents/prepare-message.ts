import { randomUUID } from 'node:crypto'
import type { SubagentContent } from '../../definitions/plan/plan-content.js'
import { parseObject } from '../../definitions/plan/tool-arguments.js'
import type { PrepareMessageAnswer, PrepareMessageInput } from '../../protocol/activities.js'
import { fact } from '../../protocol/facts.js'
import { LIMITS } from '../../protocol/limits.js'
import { utf8Length } from '../../protocol/values.js'
import { appendEvents } from '../../store/events.js'
import { countUndelivered, stageMessage } from '../../store/messages/message-writes.js'
import type { Store, Writer } from '../../store/store.js'
import { findChild, readOpenInstances, updateChild } from '../../store/threads/children.js'
import type { ChildRecord } from '../../store/threads/children.js'
import { findThread } from '../../store/threads/threads.js'
import { withHeartbeats, findCloseStatus } from '../activity.js'
import type { ActivityDependencies } from '../activity.js'
import { copyAttachments, missingFileProblem } from '../attachments.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { commit, finish } from '../operation.js'
import { loadPlan, waitForDefinition } from '../plan-content.js'
import { activePrompt } from '../../definitions/plan/plan-content.js'
import { describeListed } from '../tool/approval-request.js'
import { callHooks } from '../tool/call-hooks.js'
import { failureResult } from '../tool/call-result.js'
import type { CallResult } from '../tool/call-result.js'
import { commitDenial, commitResult } from '../tool/commit-result.js'
import { beginCall } from '../tool/held-call.js'
import type { HeldCall } from '../tool/held-call.js'
import { permitOfName } from '../tool/permit.js'
import type { Permit } from '../tool/judge-permit.js'
import { pathsField, textField } from '../tool/tool-values.js'
import { listEnabledNow, notEnabled } from '../variables/resolved-prompt.js'
import type { ActivePrompt } from '../variables/resolved-prompt.js'
import { capabilitiesOfAgent, isAnyAgentProtected } from './child-plan.js'
import { recordClosedChild } from './closed-child.js'
import { nameOfChild } from './report-text.js'

/**
 * The activity `prepareMessage` (`subagent_message`): stages a message for a resumable subagent, files first, before
 * its workflow gets the signal (T2).
 * Owns: the choice of the addressed subagent, and the message's row.
 * Does not own: the signal, and the answer of the subagent.
 * A message that cannot be sent gets an error result. If the subagent turns out to be closed, its close is reported (T7).
 */
export async function prepareMessage(
  dependencies: ActivityDependencies,
  input: PrepareMessageInput,
): Promise<PrepareMessageAnswer> {
  return withHeartbeats(async () => {
    const { store } = dependencies
    const content = await loadPlan(dependencies, input.plan)
    const hooks = callHooks(dependencies, { input, content })
    // This activity has no effect outside of the store, so it can rerun.
    const { callId: id, response = null } = input
    const permit = await permitOfMessage(dependencies, { input, content, hooks })
    const begun = await beginCall(store, input, {
      ...{ id, onInterrupted: 'rerun', response, permit },
      called: { kind: 'subagent_message', mode: dependencies.permissionMode },
      charged: { dependencies, content },
    })
    if (begun.kind === 'answered') return begun.answer
    const { call } = begun
    if (begun.kind === 'denied') return commitDenial(store, call, { denied: begun.denied, response, hooks })
    const plan = await planMessage(dependencies, call, {
      input,
      content,
      prompt: activePrompt(content, input),
    })
    if (plan.kind === 'refused') return commitResult(store, call, plan.result, { hooks })
    if (plan.kind === 'closed') return commitClosed(dependencies, call, { plan, hooks })
    const answer = await writeMessage(store, call, plan)
    return 'content' in answer ? commitResult(store, call, answer, { hooks }) : answer
  })
}

interface MessageAsking extends Pick<ActivePrompt, 'content'> {
  readonly input: PrepareMessageInput
  readonly hooks: HookBatch
}

/** What the policy says about a message: it needs the authority of the agent that gets it. */
function permitOfMessage(
  dependencies: ActivityDependencies,
  { input, content, hooks }: MessageAsking,
): Promise<Permit | null> {
  const prompt = activePrompt(content, input)
  const { registry, store } = dependencies
  return permitOfName(dependencies, {
    ...{ input, content, hooks, kind: 'subagent_message' },
    isProtected: isAnyAgentProtected(dependencies, prompt),
    describe: describeListed(content, input),
    capabilitiesOf: async (args) => {
      const reference = referenceOf(args)
      const child =
        reference === null ? null : await store.read((db) => findChild(db, input.threadId, reference))
      if (child === null) return undefined
      const { agent } = child
      if (Object.hasOwn(prompt.subagents, agent) || registry.agent(agent) !== undefined)
        return capabilitiesOfAgent(dependencies, prompt, agent)
      waitForDefinition(`agent "${agent}"`)
      return null
    },
  })
}

function referenceOf(fields: Record<string, unknown>): string | null {
  return textField(fields, 'referenceId') ?? textField(fields, 'reference')
}

/** Commits an error result; the thread's workflow handles the close like any close of a child. */
async function commitClosed(
  { store }: ActivityDependencies,
  call: HeldCall,
  {
    plan: { child, status },
    hooks,
  }: { readonly plan: Extract<MessagePlan, { readonly kind: 'closed' }>; readonly hooks: HookBatch },
): Promise<PrepareMessageAnswer> {
  const { reference } = child
  const { threadId } = call.input
  const reason = `The subagent is closed (${status}) and takes no messages. Start another one with subagent_create.`
  return commitResult(store, call, failureResult(reason, 'subagent_closed', { subagentId: reference }), {
    hooks,
    operations: [{ kind: 'child_closed', reference, status }],
    opening: async (tx) => {
      await recordClosedChild(tx, { threadId, reference, status, scope: call.scope, now: call.now })
      return []
    },
  })
}

/** A message to a subagent, or the reason why it cannot be sent, as text for the model. */
type MessagePlan =
  | { readonly kind: 'refused'; readonly result: CallResult }
  /** Its workflow is closed, with Temporal's status. */
  | { readonly kind: 'closed'; readonly child: ChildRecord; readonly status: string }
  | {
      readonly kind: 'message'
      readonly child: ChildRecord
      readonly text: string
      /** Paths of files of this thread. */
      readonly paths: readonly string[]
      readonly blocking: boolean
      readonly timeout: number | null
    }

async function planMessage(
  dependencies: ActivityDependencies,
  { input: { threadId }, row }: HeldCall,
  active: ActivePrompt,
): Promise<MessagePlan> {
  const { store } = dependencies
  const parsed = parseObject(row.arguments)
  if (!parsed.ok) return refuse(parsed.problem)
  const { args: fields } = parsed
  const reference = referenceOf(fields)
  if (reference === null) return refuse('Expected "referenceId" as the reference of a subagent.')
  const text = textField(fields, 'message')
  if (text === null) return refuse('Expected "message" as a text that is not blank.')
  if (utf8Length(text) > LIMITS.messageBytes)
    return refuse(`Expected a message of at most ${LIMITS.messageBytes} bytes: put the rest into a file.`)
  const paths = pathsField(fields)
  if (paths === null || paths.length > LIMITS.messageAttachments)
    return refuse(
      `Expected "attachments" as a list of at most ${LIMITS.messageAttachments} paths of files in this thread.`,
    )
  const child = await store.read((db) => findChild(db, threadId, reference))
  const problem = child === null ? 'names no subagent of this thread' : addressProblem(child)
  if (child === null || problem !== null)
    return refuse(
      `"referenceId" ${problem}. ${await openSubagentsText(dependencies, threadId)}`,
      'unknown_subagent',
    )
  const binding = bindingOf(active, child)
  if (binding !== undefined && !(await listEnabledNow(dependencies, active)).includes(binding))
    return refuse(...notEnabled(child.agent))
  const missing = await store.read((db) => missingFileProblem(db, threadId, paths))
  if (missing !== null) return refuse(missing, 'invalid_attachment')
  const status = await findCloseStatus(reference)
  if (status !== null) return { kind: 'closed', child, status }
  const { blocking } = binding ?? child
  return { kind: 'message', child, text, paths, blocking, timeout: binding?.timeout ?? null }
}

/** Finds the subagent as the active prompt lists it. The prompt after a handoff may not list it. */
function bindingOf(
  { prompt: { subagents } }: ActivePrompt,
  { agent }: ChildRecord,
): SubagentContent | undefined {
  return Object.hasOwn(subagents, agent) ? subagents[agent] : undefined
}

/** Explains why a child takes no messages; null if it does. */
function addressProblem({ resumable, closed_at, status }: ChildRecord): string | null {
  if (!resumable) return 'names a subagent that takes no messages: it ends with its result'
  if (closed_at !== null) return 'names a subagent that has ended'
  return status === 'deferred' ? 'names a subagent that has not started: it waits for variables' : null
}

async function openSubagentsText({ store }: ActivityDependencies, threadId: string): Promise<string> {
  const open = (await store.read((db) => readOpenInstances(db, { parentThreadId: threadId }))).filter(
    (child) => addressProblem(child) === null,
  )
  if (open.length === 0) return 'There is no open one: use subagent_create.'
  const names = open.map((child) => `${nameOfChild(child)} (${child.agent}, reference: ${child.reference})`)
  return `Those that take messages: ${names.join(', ')}.`
}

function refuse(reason: string, errorCode = 'invalid_arguments'): MessagePlan {
  return { kind: 'refused', result: failureResult(reason, errorCode) }
}

/** Kept in the operation's detail. `before`: the child's status before this message. */
export interface WrittenMessage {
  readonly before: string
}

type Message = Extract<MessagePlan, { readonly kind: 'message' }>

/** Writes files, message and registry in one transaction, or returns an error result without writing. */
async function writeMessage(
  store: Store,
  call: HeldCall,
  message: Message,
): Promise<PrepareMessageAnswer | CallResult> {
  const { threadId } = call.input
  const { operation } = call
  const { blocking, timeout, child } = message
  const { reference } = child
  return commit(store, operation, async (tx): Promise<PrepareMessageAnswer | CallResult> => {
    const thread = await findThread(tx, threadId)
    if (thread === null || thread.terminate_requested_at !== null) return { type: 'terminated' }
    const problem = await queueProblem(tx, reference)
    if (problem !== null) return failureResult(problem, 'subagent_closed', { subagentId: reference })
    const messageId = randomUUID()
    const role = child.receives === 'b' ? 'assistant' : 'user'
    const limit = blocking && timeout !== null ? { timeout } : {}
    const answer: PrepareMessageAnswer = { type: 'message', reference, messageId, role, blocking, ...limit }
    const detail = { before: child.status } satisfies WrittenMessage
    await finish(tx, operation, { answer, detail, key: reference })
    await stage(tx, call, { message, messageId, role })
    return answer
  })
}

/** Explains why the child's queue takes no message. The child's row is the authority (T8), not its workflow. */
async function queueProblem(tx: Writer, reference: string): Promise<string | null> {
  const thread = await findThread(tx, reference)
  if (thread === null || thread.terminate_requested_at !== null || thread.closed_at !== null)
    return 'The subagent has ended and takes no messages.'
  return (await countUndelivered(tx, reference)) >= LIMITS.queuedItems
    ? `${LIMITS.queuedItems} messages wait for the subagent already. Wait for it.`
    : null
}

async function stage(
  tx: Writer,
  { input: { threadId, run: number }, scope, now }: HeldCall,
  {
    message: { child, text, paths },
    messageId,
    role,
  }: { readonly message: Message; readonly messageId: string; readonly role: 'user' | 'assistant' },
): Promise<void> {
  const { reference, name } = child
  const attachments = await copyAttachments(tx, { from: threadId, to: reference, paths, now })
  const draft = { id: messageId, threadId: reference, role, content: text, attachments } as const
  const brings = { run: { threadId, number } }
  const staged = await stageMessage(tx, { ...draft, createdAt: now, sentBy: 'parent', digest: '', brings })
  if (staged !== 'staged') throw new Error(`Expected the subagent to take the message, got ${staged}.`)
  await updateChild(tx, { parentThreadId: threadId, reference }, { status: 'running' })
  const about = { ...scope, childId: reference, messageId }
  const event = fact('subagent.input', { reference, name }, about)
  await appendEvents(tx, { threadId, events: [event], now })
}
