import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { ConfigError, ThreadConflictError } from '../protocol/errors.js'
import { fact } from '../protocol/facts.js'
import { LIMITS } from '../protocol/limits.js'
import { messageIdProblem, threadIdProblem, threadStartProblem } from '../protocol/message-problems.js'
import type { ThreadLimits } from '../protocol/messages.js'
import { budgetsProblem } from '../policy/budget.js'
import type { Budgets } from '../policy/budget.js'
import { permissionModeProblem } from '../policy/judge.js'
import type { PermissionMode, ThreadPermissions } from '../policy/judge.js'
import { permissionsProblem } from '../policy/permissions.js'
import type { Permissions } from '../policy/permissions.js'
import { halfCharacterProblem, isName, withoutUndefined } from '../protocol/values.js'
import { digestOf } from '../store/digest.js'
import { appendEvents, readEvents } from '../store/events.js'
import type { SecretBox } from '../store/secret-box.js'
import type { Writer } from '../store/store.js'
import { isOpen } from '../store/threads/open-threads.js'
import { lastRun } from '../store/threads/runs.js'
import { insertThread } from '../store/threads/threads.js'
import type { ThreadRecord } from '../store/threads/threads.js'
import { clientSpan, inSpan } from '../telemetry/spans.js'
import { sessionFieldProblems } from './sessions/session-fields.js'
import type { SessionFields } from './sessions/session-fields.js'
import { variablesProblem } from './answers/check-answer.js'
import { putVariables } from './answers/set-variables.js'
import { requireThread } from './client-context.js'
import type { ClientContext } from './client-context.js'
import { checkMessage, sendMessage } from './messages/send-message.js'
import type { NewMessage } from './messages/send-message.js'
import { startWorkflow } from './thread-workflow.js'
import { assertListed, findUnknownAgent } from './waiting/notices.js'
import { nowMicros } from '../protocol/time.js'

/** A thread to create, or to find by its id. */
export interface CreateThread<Agent extends string = string> extends Pick<
  SessionFields,
  'metadata' | 'workspaceUri'
> {
  readonly agent: Agent
  /** It is also Temporal's workflow id. An id that exists gives that thread. @default a UUID */
  readonly id?: string
  /** It is sent once, however often the same `create` is repeated. */
  readonly message?: string | NewMessage
  /** The user of the thread. */
  readonly userId?: string
  /** The tenant. */
  readonly account?: string
  /** Values of variables, stored with the thread; the variables of a thread that exists already do not change. */
  readonly env?: Readonly<Record<string, string>>
  readonly tags?: readonly string[]
  readonly title?: string
  readonly limits?: ThreadLimits
  /**
   * Rules about the capabilities of its tools and agents. They can make those of worker and agent stricter, and never weaker; its
   * subagents inherit them.
   */
  readonly permissions?: Permissions
  /** What happens to what rules leave open. What the mode of the worker demands holds too. @default none */
  readonly permissionMode?: PermissionMode
  /**
   * False: nobody can be asked, so a call that needs an approval is denied at once.
   * @default true
   */
  readonly interactive?: boolean
  /**
   * What each of its runs, the thread, and the thread with all of its subagents may use. They can only be tighter than those of worker and
   * agent.
   */
  readonly budgets?: Budgets
  /**
   * True: the worker that has the agent starts later. The thread is created, its creator gets a notice, and what is sent waits for a
   * minute in a run. Else an agent that no worker of the store has listed, while others are, is refused.
   * @default false
   */
  readonly allowUnknownAgent?: boolean
}

/**
 * Inserts the row, then starts the workflow. A first message is sent as any other, and its signal starts the workflow. Each part
 * finds what an earlier attempt did.
 */
export async function createThread(context: ClientContext, options: CreateThread): Promise<string> {
  const threadId = options.id ?? randomUUID()
  const problems = createProblems(threadId, options)
  if (problems.length > 0) throw new ConfigError(problems)
  if (options.message !== undefined) checkMessage(threadId, options.message, () => firstMessageIdOf(threadId))

  const span = clientSpan('everthread.create', { threadId, agent: options.agent })
  return inSpan(span, () => create(context, { ...options, id: threadId }))
}

async function create(
  context: ClientContext,
  options: CreateThread & { readonly id: string },
): Promise<string> {
  const threadId = options.id
  const defaultId = firstMessageIdOf(threadId)
  const store = await context.store()
  const { thread, agents, isNew } = await store.write(async (tx) => {
    const found = await register(tx, store.secrets, options)
    const first = found.agent === options.agent ? options.agent : await firstAgent(tx, threadId)
    return { thread: found, agents: [found.agent, first], isNew: (await lastRun(tx, threadId)) === null }
  })
  const problem = conflictProblem({ ...thread, agents }, options)
  if (problem !== undefined) throw new ThreadConflictError(threadId, { problem })
  if (isNew && options.allowUnknownAgent === true) await reportUnknownAgent(context, thread)
  const { limits, message } = options
  if (message === undefined) {
    if (isOpen(thread)) await startWorkflow(context, thread, { limits, isNew })
  } else {
    const start = { thread, limits, isNew }
    await sendMessage(context, { threadId, message, defaultId, ...(isOpen(thread) && { start }) })
  }
  return threadId
}

/** A worker with this agent starts later: the thread is created, and its creator gets a notice. */
async function reportUnknownAgent(context: ClientContext, { id, agent }: ThreadRecord): Promise<void> {
  const notice = await findUnknownAgent(context, { threadId: id, agent })
  if (notice !== null) context.onNotice(notice)
}

function createProblems(threadId: unknown, options: CreateThread): readonly string[] {
  const { account, env, title, metadata, workspaceUri } = options
  const { permissions, permissionMode, interactive, budgets, allowUnknownAgent } = options
  const problems = [
    threadIdProblem(threadId),
    threadStartProblem({ ...options, message: undefined }),
    ...halfCharacterProblems(threadId, options),
  ]
  if (account !== undefined && !isName(account))
    problems.push(`Expected "account" to be a text of 1 to ${LIMITS.threadIdLength} characters, got another.`)
  problems.push(...sessionFieldProblems(withoutUndefined({ title, metadata, workspaceUri })))
  if (env !== undefined) problems.push(variablesProblem(env))
  const wrongRules = permissionsProblem(permissions)
  if (wrongRules !== undefined) problems.push(`permissions: ${wrongRules}`)
  const wrongMode = permissionModeProblem(permissionMode)
  if (wrongMode !== undefined) problems.push(`permissionMode: ${wrongMode}`)
  const wrongBudgets = budgetsProblem(budgets)
  if (wrongBudgets !== undefined) problems.push(`budgets: ${wrongBudgets}`)
  if (allowUnknownAgent !== undefined && typeof allowUnknownAgent !== 'boolean')
    problems.push(`Expected "allowUnknownAgent" to be true or false, got ${typeof allowUnknownAgent}.`)
  if (interactive !== undefined && typeof interactive !== 'boolean')
    problems.push(`Expected "interactive" to be true or false, got ${typeof interactive}.`)
  return problems.filter((problem) => problem !== undefined)
}

function halfCharacterProblems(
  threadId: unknown,
  { userId, account, tags }: CreateThread,
): readonly (string | undefined)[] {
  const listed: readonly unknown[] = Array.isArray(tags) ? tags : []
  return [
    halfCharacterProblem('a thread id', threadId),
    halfCharacterProblem('"userId"', userId),
    halfCharacterProblem('"account"', account),
    ...listed.map((tag) => halfCharacterProblem('each of "tags"', tag)),
  ]
}

async function register(
  tx: Writer,
  secrets: SecretBox,
  options: CreateThread & { readonly id: string },
): Promise<ThreadRecord> {
  const { id, env = {} } = options
  const now = nowMicros()
  const inserted = await insertThread(tx, {
    id,
    agent: options.agent,
    created_at: now,
    user_id: options.userId ?? null,
    account: options.account ?? null,
    tags: [...new Set(options.tags)],
    title: options.title ?? null,
    metadata: options.metadata ?? null,
    workspace_uri: options.workspaceUri ?? null,
    permissions: permissionsOf(options),
    budgets: options.budgets ?? null,
  })
  const started = fact('thread.started', { agent: options.agent, parent: null })
  if (inserted) {
    if (options.allowUnknownAgent !== true) await assertListed(tx, { threadId: id, agent: options.agent })
    await appendEvents(tx, { threadId: id, events: [started, fact('session.created', {})], now })
    await putVariables(tx, secrets, { threadId: id, values: env })
  }
  return requireThread(tx, id)
}

/** Null: none are given. */
function permissionsOf({
  permissions,
  permissionMode: mode,
  interactive,
}: CreateThread): ThreadPermissions | null {
  const given = withoutUndefined({ permissions, mode, interactive })
  return Object.keys(given).length === 0 ? null : given
}

/** Reads the agent that the thread was created with: it may have been handed over since. */
async function firstAgent(tx: Writer, threadId: string): Promise<unknown> {
  const [started] = await readEvents(tx, { threadId, after: 0, limit: 1 })
  return started?.payload['agent']
}

interface KnownThread extends ThreadRecord {
  /** Its current agent, and the agent that it was created with. */
  readonly agents: readonly unknown[]
}

function conflictProblem(thread: KnownThread, options: CreateThread): string | undefined {
  const { agent, userId, account } = options
  const expected = `Expected thread id "${thread.id}" to be new or the same thread`
  if (!thread.agents.includes(agent))
    return `${expected}, got one of agent "${thread.agent}": use another id.`
  if (thread.user_id !== (userId ?? null)) return `${expected}, got one of another user: use another id.`
  if (thread.account !== (account ?? null)) return `${expected}, got one of another account: use another id.`
  const given = permissionsOf(options)
  // Whoever demands rules must not get a thread without them.
  if (given !== null && !isDeepStrictEqual(given, thread.permissions))
    return `${expected}, got one with other permissions: use another id.`
  if (options.budgets !== undefined && !isDeepStrictEqual(asJson(options.budgets), thread.budgets))
    return `${expected}, got one with other budgets: use another id.`
  return undefined
}

/** The default id of a first message, which a repeated `create` gives again. A long thread id is replaced by its digest. */
export function firstMessageIdOf(threadId: string): string {
  const long = messageIdProblem(`${threadId}:first`) !== undefined
  return `${long ? digestOf(threadId) : threadId}:first`
}

/** As the store has them: without what is undefined. */
function asJson(budgets: Budgets): unknown {
  return JSON.parse(JSON.stringify(budgets))
}
