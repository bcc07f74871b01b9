/**
 * Tasks of a server (the extension `io.modelcontextprotocol/tasks` of MCP 2026-07-28): calls whose result is there later.
 *
 * Owns: how a task is recognised, the state of the call that waits for it, when it is asked for, and its end. Does not own: the durable
 * timer and the request of a person (`activities/sources/`).
 * Invariants: the state is JSON and holds all that the next question needs, so that any worker can ask; asking changes nothing, so it
 * may be repeated; answers of a person are sent by their keys, so the same ones may be sent again.
 */
import type { Client, InputRequiredResult, RequestOptions, Transport } from '@modelcontextprotocol/client'
import { ToolError } from '../definitions/tool-error.js'
import type { SourcePending } from '../definitions/tool-source.js'
import type { ToolResult } from '../definitions/tool-result.js'
import { isObject, withoutUndefined } from '../protocol/values.js'
import type { JsonObject, JsonValue } from '../protocol/values.js'
import { askPerson, responsesOf } from './input-required.js'
import { taskError } from './mcp-errors.js'
import { toolAnswer } from './tool-answer.js'

/** The name of the extension among the capabilities of both sides. */
export const TASKS = 'io.modelcontextprotocol/tasks'

/** What a call waits for whose server works on a task. */
interface WaitingTask {
  readonly id: string
  /** Milliseconds since 1970: the task began. */
  readonly since: number
  /** Milliseconds between two questions, as the server wants it. */
  readonly interval?: number
}

const [SHORTEST, LONGEST, LONGEST_WANTED] = [1_000, 300_000, 3_600_000]
/** The pause grows with the time that the task has taken, so that a result is known at most a quarter of it later. */
const SHARE = 4
const DAY = 86_400_000
const MOST_TIME = 30 * DAY
const LONGEST_ID = 1_024

/**
 * Lets results of the type `task` through the official client, which knows none and would refuse them: it gets an empty result of a tool
 * that has the task beside it. Call it behind `connect`, which sets the handler of the transport.
 */
export function letTasksThrough(transport: Transport): void {
  const { onmessage } = transport
  transport.onmessage = (message, extra) => {
    const result = 'result' in message && isObject(message.result) ? message.result : {}
    if (result['resultType'] !== 'task') return onmessage?.(message, extra)
    const { resultType: _type, content: _content, _meta: _about, ...task } = result
    const lifted = { resultType: 'complete', content: [], _meta: { [TASKS]: task } }
    return onmessage?.({ ...message, result: lifted } as typeof message, extra)
  }
}

/** The wait for the task that a call has begun, by what is beside its result; null: it has begun none. @throws ToolError for a task without an id */
export function waitForNewTask(
  server: string,
  meta: Readonly<Record<string, unknown>> = {},
): SourcePending | null {
  const task = meta[TASKS]
  if (!isObject(task)) return null
  const { taskId: id, pollIntervalMs } = task
  if (typeof id !== 'string' || id === '' || id.length > LONGEST_ID)
    throw invalid(server, `began a task without an id of 1 to ${LONGEST_ID} characters.`)
  return waitForTask(withoutUndefined({ id, since: Date.now(), interval: intervalOf(pollIntervalMs) }))
}

function intervalOf(value: unknown): number | undefined {
  return typeof value === 'number' && value > 0 ? Math.min(value, LONGEST_WANTED) : undefined
}

/** The wait until the task is asked for again. */
function waitForTask(task: WaitingTask): SourcePending {
  const { since, interval = SHORTEST } = task
  const share = Math.min((Date.now() - since) / SHARE, LONGEST)
  const after = Math.ceil(Math.max(SHORTEST, interval, share))
  return { status: 'pending', after, resume: { task: task as unknown as JsonValue } }
}

/** What a person has answered to a task; null: it has asked nothing. */
type Answered = {
  readonly input: Parameters<typeof responsesOf>[0]
  readonly answer: ToolResult | null
} | null

/** A task for which a call waits. */
interface ResumedTask {
  /** Sends what a person has answered, or asks for the task. @throws ToolError if it has ended without a result, or cannot be asked for */
  goOn(client: Client, answered: Answered, options: RequestOptions): Promise<ToolResult | SourcePending>
  /** Ends a task whose result nobody needs any more. */
  cancel(client: Client, options: RequestOptions): Promise<void>
}

/** Reads the state of a call that waits; null: it waits for no task. */
export function readWaitingTask(server: string, state: JsonObject): ResumedTask | null {
  if (!isObject(state['task'])) return null
  // Written by `waitForTask`: the store's boundary.
  const task = state['task'] as unknown as WaitingTask
  return {
    goOn: (client, answered, options) => goOnWithTask(server, client, { task, answered, options }),
    async cancel(client, options) {
      await send(client, { method: 'tasks/cancel', params: { taskId: task.id } }, options)
    },
  }
}

interface Going {
  readonly task: WaitingTask
  readonly answered: Answered
  readonly options: RequestOptions
}

async function goOnWithTask(
  server: string,
  client: Client,
  { task, answered, options }: Going,
): Promise<ToolResult | SourcePending> {
  const { id: taskId } = task
  try {
    if (answered === null)
      return await endOf(
        server,
        task,
        await send(client, { method: 'tasks/get', params: { taskId } }, options),
      )
    const inputResponses = responsesOf(answered.input, answered.answer)
    await send(client, { method: 'tasks/update', params: { taskId, inputResponses } }, options)
    return waitForTask(task)
  } catch (error) {
    throw taskError(server, error)
  }
}

type Found = Readonly<Record<string, unknown>>

type Sent = Parameters<Client['request']>[0]

/** The client has these methods only for who brings the schema of their result. */
async function send(client: Client, request: Sent, options: RequestOptions): Promise<Found> {
  const validate = (value: unknown) =>
    isObject(value) ? { value } : { issues: [{ message: 'Expected an object.' }] }
  const schema = { '~standard': { version: 1, vendor: 'everthread', validate } } as const
  return (await client.request(request, schema, options)) as Found
}

async function endOf(server: string, task: WaitingTask, found: Found): Promise<ToolResult | SourcePending> {
  const { status, inputRequests, result, error, pollIntervalMs } = found
  const interval = intervalOf(pollIntervalMs)
  const next = interval === undefined ? task : { ...task, interval }
  switch (status) {
    case 'completed':
      return resultOf(server, result)
    case 'failed':
      throw new ToolError(`The MCP server "${server}" failed at the task of the call: ${reasonOf(error)}`, {
        ...{ category: 'unknown', code: 'mcp_error' },
      })
    case 'cancelled':
      throw new ToolError(`The MCP server "${server}" has cancelled the task of the call.`, {
        ...{ category: 'unknown', code: 'mcp_task_cancelled' },
      })
    case 'input_required':
      if (!isObject(inputRequests) || Object.keys(inputRequests).length === 0) return waitForTask(next)
      return askInTask(server, next, inputRequests as InputRequiredResult['inputRequests'])
    default:
      if (Date.now() - task.since <= MOST_TIME) return waitForTask(next)
      throw new ToolError(
        `The task of the MCP server "${server}" took more than ${MOST_TIME / DAY} days: what it did is not known.`,
        { category: 'timeout', code: 'mcp_task_overdue' },
      )
  }
}

function askInTask(
  server: string,
  task: WaitingTask,
  inputRequests: InputRequiredResult['inputRequests'],
): SourcePending {
  const asked = askPerson(server, { resultType: 'input_required', ...withoutUndefined({ inputRequests }) })
  return { ...asked, resume: { ...asked.resume, task: task as unknown as JsonValue } }
}

async function resultOf(server: string, result: unknown): Promise<ToolResult> {
  const { isSpecType } = await import('@modelcontextprotocol/client')
  if (!isObject(result) || !isSpecType.CallToolResult(result))
    throw invalid(server, 'ended a task with a result that is none of MCP.')
  const { content = [], ...others } = result
  return toolAnswer({ ...others, content })
}

function invalid(server: string, what: string): ToolError {
  return new ToolError(`The MCP server "${server}" ${what}`, { category: 'permanent', code: 'mcp_invalid' })
}

function reasonOf(error: unknown): string {
  const message = isObject(error) ? error['message'] : undefined
  return typeof message === 'string' && message !== '' ? message.slice(0, 2_000) : 'it gave no reason.'
}
