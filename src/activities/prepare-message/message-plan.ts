import type { SubagentContent } from '../../definitions/plan-content.js'
import { parseObject } from '../../definitions/tool-arguments.js'
import { LIMITS } from '../../protocol/limits.js'
import { utf8Length } from '../../protocol/utf8-length.js'
import { findChild, openInstances } from '../../store/children.js'
import type { ChildRecord } from '../../store/children.js'
import { missingFile } from '../attachments.js'
import { closeStatus } from '../close-status.js'
import type { ActivityDependencies } from '../dependencies.js'
import type { HeldCall } from '../execute-tool/begin-call.js'
import { failed } from '../execute-tool/call-result.js'
import type { CallResult } from '../execute-tool/call-result.js'
import { givenPaths, givenText } from '../execute-tool/given-arguments.js'
import { nameOfChild } from '../group-report.js'
import { enabledNow, notEnabled } from '../variables/active-scope.js'
import type { ActivePrompt } from '../variables/active-scope.js'

/** A message to a subagent, or why it cannot be sent, in words for the model. */
export type MessagePlan =
  | { readonly kind: 'refused'; readonly result: CallResult }
  /** Its workflow is not there any more, with Temporal's status. */
  | { readonly kind: 'closed'; readonly child: ChildRecord; readonly status: string }
  | {
      readonly kind: 'message'
      readonly child: ChildRecord
      readonly text: string
      /** Files of this thread. */
      readonly paths: readonly string[]
      readonly blocking: boolean
      readonly timeout: number | null
    }

export async function messagePlan(
  dependencies: ActivityDependencies,
  { input: { threadId }, row }: HeldCall,
  active: ActivePrompt,
): Promise<MessagePlan> {
  const { store } = dependencies
  const parsed = parseObject(row.arguments)
  if (!parsed.ok) return refused(parsed.problem)
  const { args: fields } = parsed
  const reference = givenText(fields, 'referenceId') ?? givenText(fields, 'reference')
  if (reference === null) return refused('Expected "referenceId" as the reference of a subagent.')
  const text = givenText(fields, 'message')
  if (text === null) return refused('Expected "message" as a text that is not blank.')
  if (utf8Length(text) > LIMITS.messageBytes)
    return refused(`Expected a message of at most ${LIMITS.messageBytes} bytes: put the rest into a file.`)
  const paths = givenPaths(fields)
  if (paths === null || paths.length > LIMITS.messageAttachments)
    return refused(
      `Expected "attachments" as a list of at most ${LIMITS.messageAttachments} paths of files in this thread.`,
    )
  const child = await store.read((db) => findChild(db, threadId, reference))
  const problem = child === null ? 'names no subagent of this thread' : addressProblem(child)
  if (child === null || problem !== null)
    return refused(`"referenceId" ${problem}. ${await whoIsOpen(dependencies, threadId)}`, 'unknown_subagent')
  const binding = bindingOf(active, child)
  if (binding !== undefined && !(await enabledNow(dependencies, active)).includes(binding))
    return refused(...notEnabled(child.agent))
  const missing = await store.read((db) => missingFile(db, threadId, paths))
  if (missing !== null) return refused(missing, 'invalid_attachment')
  const status = await closeStatus(reference)
  if (status !== null) return { kind: 'closed', child, status }
  const { blocking } = binding ?? child
  return { kind: 'message', child, text, paths, blocking, timeout: binding?.timeout ?? null }
}

/** As the active prompt lists the agent now; a prompt that a handoff brought may not list it. */
function bindingOf(
  { prompt: { subagents } }: ActivePrompt,
  { agent }: ChildRecord,
): SubagentContent | undefined {
  return Object.hasOwn(subagents, agent) ? subagents[agent] : undefined
}

/** Why a child takes no messages; null if it does. */
function addressProblem({ resumable, closed_at, status }: ChildRecord): string | null {
  if (!resumable) return 'names a subagent that takes no messages: it ends with its result'
  if (closed_at !== null) return 'names a subagent that has ended'
  return status === 'deferred' ? 'names a subagent that has not started: it waits for variables' : null
}

async function whoIsOpen({ store }: ActivityDependencies, threadId: string): Promise<string> {
  const open = (await store.read((db) => openInstances(db, { parentThreadId: threadId }))).filter(
    (child) => addressProblem(child) === null,
  )
  if (open.length === 0) return 'There is no open one: use subagent_create.'
  const names = open.map((child) => `${nameOfChild(child)} (${child.agent}, reference: ${child.reference})`)
  return `Those that take messages: ${names.join(', ')}.`
}

function refused(reason: string, errorCode = 'invalid_arguments'): MessagePlan {
  return { kind: 'refused', result: failed(reason, errorCode) }
}
