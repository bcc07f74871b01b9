/**
 * An MCP server as a source of tools.
 *
 * Owns: which of its tools an agent may call, under which names, and what the definition says of them; a call. Does not own: connections
 * (`connections.ts`), the options (`server-options.ts`), and what a result becomes (`tool-answer.ts`).
 * Invariant: what a server says of its tools can only make a call stricter: a hint that a tool destroys counts, one that it only reads
 * does not.
 */
import type {
  CallToolResult,
  Client,
  InputRequiredResult,
  InputResponses,
  Progress,
  Tool,
} from '@modelcontextprotocol/client'
import { ToolError } from '../definitions/tool-error.js'
import type {
  CancelledCall,
  ResumedCall,
  SourceCall,
  SourcePending,
  SourceTool,
  ToolSource,
} from '../definitions/tool-source.js'
import type { ToolResult } from '../definitions/tool-result.js'
import { withoutUndefined } from '../protocol/values.js'
import type { JsonObject } from '../protocol/values.js'
import { createConnections } from './connections.js'
import { askPerson, readWaitingInput, responsesOf } from './input-required.js'
import { callError } from './mcp-errors.js'
import { goOnWithLogin, readResumption, withLogin } from './logins/login-calls.js'
import type { Resumption } from './logins/login-calls.js'
import { challengeIn, hasLogins } from './logins/logins.js'
import { checkServer, connectToolName } from './server-options.js'
import type { McpServer, McpToolEntry } from './server-options.js'
import { readWaitingTask, waitForNewTask } from './tasks.js'
import { toolAnswer } from './tool-answer.js'

const CALL_TIMEOUT = 60_000
/** For the list of the tools: a run waits 20 seconds for the source. */
const LIST_TIMEOUT = 8_000
/** Between the end of a call and that of its tool, so that the error of the call is the result. */
const SLACK = 5_000
/** For a call that finds out that a login is wanted, and begins it. */
const LOGIN_TIME = 20_000

/**
 * The tools of an MCP server, for the `tools` of an agent or the `toolSources` of a prompt. The specification of 2026-07-28 is spoken, and
 * the older ones with servers that know no other.
 * @throws ConfigError for options that cannot work, and without `@modelcontextprotocol/client`
 */
export function mcpServer(server: McpServer): ToolSource {
  checkServer(server)
  const connections = createConnections(server)
  return {
    name: server.name,
    ...(hasLogins(server) && server.oauth.logins === undefined && { keepsLogins: true }),
    async list(user) {
      try {
        return await listTools(server, await connections.get(user), user.signal)
      } catch (error) {
        if (!hasLogins(server) || challengeIn(error) === null) throw error
        return [connectTool(server)]
      }
    },
    call: (call) => beginCall(server, connections, { call, place: { asked: 0, part: null } }),
    resume: (call) => nextPart(server, connections, call),
    cancel: (call) => cancelCall(server, connections, call),
    close: () => connections.close(),
  }
}

async function listTools(
  server: McpServer,
  client: Client,
  signal: AbortSignal,
): Promise<readonly SourceTool[]> {
  try {
    const listed = await client.listTools({}, { signal, timeout: LIST_TIMEOUT, cacheMode: 'refresh' })
    return listed.tools.flatMap((tool) => sourceTool(server, tool))
  } catch (error) {
    throw callError(server.name, error)
  }
}

/** What a person without a login is offered: nobody knows the tools that the server would list for them. */
function connectTool(server: McpServer): SourceTool {
  const { name, capabilities = [`mcp.${name}`] } = server
  return {
    ...{ name: connectToolName(server), inputSchema: { type: 'object', properties: {} }, capabilities },
    description: `Asks the person to log in to ${name}. Its tools are there once they have.`,
    ...{ readOnly: true, idempotent: true, changesList: true, timeout: timeoutOf(server, {}) + SLACK },
  }
}

/** The tool as agents get it; empty: they may not call it. */
function sourceTool(server: McpServer, tool: Tool): readonly SourceTool[] {
  const entry = entryOf(server, tool.name)
  if (entry === null) return []
  const { prefix = '', capabilities = [`mcp.${server.name}`], needsApproval = false } = server
  const destructive = entry.destructive ?? (tool.annotations?.destructiveHint === true ? true : undefined)
  return [
    {
      name: prefix + (entry.as ?? tool.name),
      description: entry.description ?? tool.description ?? tool.title ?? '',
      inputSchema: tool.inputSchema as JsonObject,
      capabilities: entry.capabilities ?? capabilities,
      needsApproval: entry.needsApproval ?? needsApproval,
      ...(entry.readOnly !== undefined && { readOnly: entry.readOnly }),
      ...(destructive !== undefined && { destructive }),
      ...(entry.idempotent !== undefined && { idempotent: entry.idempotent }),
      timeout: timeoutOf(server, entry) + (hasLogins(server) ? LOGIN_TIME : 0) + SLACK,
    },
  ]
}

function timeoutOf({ timeout = CALL_TIMEOUT }: McpServer, entry: Pick<McpToolEntry, 'timeout'>): number {
  return entry.timeout ?? timeout
}

function entryOf({ tools }: McpServer, name: string): McpToolEntry | null {
  if (tools === 'all') return { name }
  const found = tools.find((entry) => (typeof entry === 'string' ? entry : entry.name) === name)
  return found === undefined ? null : typeof found === 'string' ? { name } : found
}

/** The server's own name of a tool. */
function ownName({ tools, prefix = '' }: McpServer, shown: string): string {
  const name = shown.slice(prefix.length)
  const entries = tools === 'all' ? [] : tools
  const renamed = entries.find((entry) => typeof entry !== 'string' && entry.as === name)
  return renamed === undefined || typeof renamed === 'string' ? name : renamed.name
}

/** What a request has beside the arguments, if it goes on with a call. */
interface Further {
  readonly inputResponses?: InputResponses
  readonly requestState?: string
}

type Connections = ReturnType<typeof createConnections>

interface Beginning {
  readonly call: SourceCall
  readonly place: Resumption
}

/** The first part of a call, also behind a login. */
async function beginCall(
  server: McpServer,
  connections: Connections,
  { call, place }: Beginning,
): Promise<ToolResult | SourcePending> {
  const begin = async (): Promise<ToolResult | SourcePending> => {
    const client = await connections.get(call)
    if (!hasLogins(server) || call.tool.name !== connectToolName(server))
      return callTool(server, client, { call })
    const tools = await listTools(server, client, call.signal)
    const names = tools.map(({ name }) => name).join(', ')
    return { status: 'success', result: `The person is logged in to ${server.name}. Its tools: ${names}.` }
  }
  return hasLogins(server) ? withLogin(server, call, place, begin) : begin()
}

/** A further part of a call: the login that it waited for, or what the login has interrupted. */
async function nextPart(
  server: McpServer,
  connections: Connections,
  call: ResumedCall,
): Promise<ToolResult | SourcePending> {
  if (!hasLogins(server)) return resumeCall(server, connections, call)
  const waiting = await goOnWithLogin(server, call)
  if (waiting !== null) return waiting
  const place = readResumption(call.resume)
  if (place?.part === null) return beginCall(server, connections, { call, place })
  const { resume, answer, repeatable } = place?.part ?? { ...call, repeatable: call.answer === null }
  const again = { asked: place?.asked ?? 0, part: { resume, answer, repeatable } }
  return withLogin(server, call, again, () => resumeCall(server, connections, { ...call, resume, answer }))
}

async function callTool(
  server: McpServer,
  client: Client,
  { call, further = {} }: { readonly call: SourceCall; readonly further?: Further },
): Promise<ToolResult | SourcePending> {
  const name = ownName(server, call.tool.name)
  const { args, signal, tool } = call
  const toolDefinition = { name, inputSchema: tool.inputSchema as unknown as Tool['inputSchema'] }
  const timeout = timeoutOf(server, entryOf(server, name) ?? { name })
  try {
    const onprogress = ({ progress, total, message }: Progress): void =>
      call.progress(withoutUndefined({ progress, total, message }))
    const options = { signal, timeout, toolDefinition, allowInputRequired: true, onprogress }
    const answer: CallToolResult | InputRequiredResult = await client.callTool(
      { name, arguments: args, ...further },
      options,
    )
    if (isQuestion(answer)) return askPerson(server.name, answer)
    return waitForNewTask(server.name, answer._meta) ?? toolAnswer(answer)
  } catch (error) {
    throw callError(server.name, error)
  }
}

function isQuestion(answer: CallToolResult | InputRequiredResult): answer is InputRequiredResult {
  return 'resultType' in answer && answer.resultType === 'input_required'
}

/** Milliseconds before a server that is down is tried again with the answer of a person; doubled up to the longest. */
const [FIRST_PAUSE, LONGEST_PAUSE] = [5_000, 300_000]
/** Tries in about an hour. */
const MOST_TRIES = 18
/** For a question about a task, which needs no work. */
const TASK_TIMEOUT = 30_000

/**
 * Sends the answer of a person, or asks for a task. While the server cannot be reached, nothing has been sent: the answer waits with the
 * state of the call, by durable timers.
 */
async function resumeCall(
  server: McpServer,
  connections: Connections,
  call: ResumedCall,
): Promise<ToolResult | SourcePending> {
  const { answer = call.answer, tries = 0, ...state } = call.resume as Waiting
  const isTask = readWaitingTask(server.name, state) !== null
  // The part behind a timer may run again after a crash, so that is the one which sends it: the server knows answers by their keys.
  if (isTask && call.answer !== null)
    return { status: 'pending', after: 0, resume: { ...state, answer } as unknown as JsonObject }
  try {
    return await goOn(server, await connections.get(call), { call, state, answer })
  } catch (error) {
    if (tries >= MOST_TRIES || !mayBeSentAgain(error, isTask)) throw error
    const after = Math.min(FIRST_PAUSE * 2 ** tries, LONGEST_PAUSE)
    const resume = { ...state, answer, tries: tries + 1 } as unknown as JsonObject
    return { status: 'pending', after, resume }
  }
}

/** Nothing was sent, or what was sent is a question about a task. */
function mayBeSentAgain(error: unknown, isTask: boolean): boolean {
  if (!ToolError.isInstance(error)) return false
  const isPassing = error.category === 'transient' || error.code === 'mcp_timeout'
  return error.code === 'mcp_unreachable' || (isTask && isPassing)
}

interface GoingOn {
  readonly call: ResumedCall
  readonly state: JsonObject
  readonly answer: ToolResult | null
}

async function goOn(
  server: McpServer,
  client: Client,
  { call, state, answer }: GoingOn,
): Promise<ToolResult | SourcePending> {
  const [input, task] = [readWaitingInput(state), readWaitingTask(server.name, state)]
  if (task !== null) {
    const answered = input === null ? null : { input, answer }
    return task.goOn(client, answered, { signal: call.signal, timeout: TASK_TIMEOUT })
  }
  if (input === null) throw new Error('Expected the state of a call that waits for input, got another one.')
  const { requestState } = input
  const further = {
    inputResponses: responsesOf(input, answer),
    ...(requestState !== undefined && { requestState }),
  }
  return callTool(server, client, { call, further })
}

/** A stopped call of which the server still has a task. */
async function cancelCall(
  server: McpServer,
  connections: Connections,
  { resume, signal, ...user }: CancelledCall,
): Promise<void> {
  const task = readWaitingTask(server.name, resume)
  await task?.cancel(await connections.get(user), { signal, timeout: TASK_TIMEOUT })
}

/** The state of a call that waits, with the answer that could not be sent yet. */
type Waiting = Omit<JsonObject, 'answer' | 'tries'> & {
  readonly answer?: ToolResult | null
  readonly tries?: number
}
