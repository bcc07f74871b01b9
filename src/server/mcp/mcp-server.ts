/**
 * The MCP server: the tools with their schemas and hints, and what they answer, in the words of the protocol.
 * Owns: names, descriptions, schemas and annotations of tools; forms for people as results that ask for input. Does not own: what a tool does
 * (`agent-tools.ts`), and the transports.
 * Invariant: each request gets a server of its own, or each connection, so that nothing is kept between calls but what the store has.
 */
import { createRequire } from 'node:module'
import type {
  CallToolResult,
  InputRequiredResult,
  McpServer,
  ServerContext as CallContext,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Answer } from '../../client/answers/check-answer.js'
import { ConfigError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { isObject } from '../../protocol/values.js'
import { problemOf } from '../error-response.js'
import { agentState, WAIT } from './agent-state.js'
import { answerRequest, cancelAgent, getAgent, sendToAgent, startAgent } from './agent-tools.js'
import type { Filled, ToolContext } from './agent-tools.js'
import type { AnswerForm } from './answer-forms.js'
import type { PublishedAgent } from './published-agents.js'

type Package = typeof import('@modelcontextprotocol/server')

const PACKAGE = '@modelcontextprotocol/server'

/** @throws ConfigError when the package is not installed */
export function checkMcpPackage(): void {
  try {
    createRequire(import.meta.url).resolve(PACKAGE)
  } catch {
    throw new ConfigError([`Expected ${PACKAGE} beside everthread, got none: run npm install ${PACKAGE}`])
  }
}

export interface McpServerOptions extends ToolContext {
  readonly agents: readonly PublishedAgent[]
  /** Of this package. */
  readonly version: string
  /** Is told of errors that are no fault of the caller. */
  readonly onFailure: (error: unknown) => void
}

const INSTRUCTIONS = `Each start_… tool starts an agent that works on its own, for seconds or days, and survives restarts. It answers an id at
once. Call agent_get with the id until its status is not "working": it waits for news. With "needs_answer", ask the person the questions in
"requests" and give what they say to agent_answer; never decide an approval yourself. agent_send continues a conversation, agent_cancel stops
its work.`

const id = z.string().min(1).max(LIMITS.threadIdLength).describe('The id that the start_… tool has answered.')
const message = z.string().min(1).describe('What the agent is told: all that it needs to know.')
const key = z
  .string()
  .min(1)
  .max(LIMITS.nameLength)
  .optional()
  .describe('A word of your own for this message: when a call is repeated with it, nothing happens twice.')

const started = z.object({
  id: z.string().describe('For all other tools.'),
  cursor: z.string().describe('`after` for the first agent_get.'),
})
const sent = z.object({ id: z.string(), status: z.string().describe('accepted, or queued behind its work.') })
const cancelled = z.object({ id: z.string(), cancelled: z.boolean().describe('False: it did nothing.') })
const answered = z.object({
  id: z.string(),
  request: z.string(),
  accepted: z.boolean().describe('False: the person gave no answer, and the request waits on.'),
})

type Result = CallToolResult | InputRequiredResult

/** Makes a server for one request or one connection. */
export function createMcpServer(mcp: Package, options: McpServerOptions): McpServer {
  const server = new mcp.McpServer(
    { name: 'everthread', title: 'Everthread agents', version: options.version },
    { instructions: INSTRUCTIONS.replaceAll('\n', ' '), capabilities: { tools: { listChanged: false } } },
  )
  const { onFailure } = options
  /** An error of ours becomes a result that a model can read; nothing else of it leaves the server (T5). */
  const carryOut = async (work: () => Promise<Result>, isKeyless = false): Promise<Result> => {
    try {
      return await work()
    } catch (error) {
      const { status, code, message: text } = problemOf(error, isKeyless)
      if (status >= 500) onFailure(error)
      return { isError: true, content: [{ type: 'text', text: `${code}: ${text}` }] }
    }
  }
  for (const agent of options.agents)
    server.registerTool(
      agent.tool,
      {
        title: agent.title ?? `Start ${agent.name}`,
        description: describeStart(agent),
        inputSchema: z.strictObject({ message, key }),
        outputSchema: started,
        annotations: ACTS,
      },
      (given) =>
        carryOut(async () => toResult(await startAgent(options, agent.name, given)), given.key === undefined),
    )
  const adding = { mcp, server, options, carryOut }
  addGet(adding)
  addSend(adding)
  addAnswer(adding)
  addCancel(adding)
  return server
}

interface Adding {
  readonly mcp: Package
  readonly server: McpServer
  readonly options: McpServerOptions
  readonly carryOut: (work: () => Promise<Result>, isKeyless?: boolean) => Promise<Result>
}

/** It begins work that may change things elsewhere. */
const ACTS = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
} as const

function addGet({ server, options, carryOut }: Adding): void {
  server.registerTool(
    'agent_get',
    {
      title: 'Read an agent',
      description: `Waits until an agent has ended its work or asks something, at most ${WAIT.usual} seconds or "wait", and returns its status, what it says, and what it asks. While its status is "working", call again with "after".`,
      inputSchema: z.strictObject({
        id,
        after: z.string().max(40).optional().describe('`cursor` of the last answer: only what is new.'),
        wait: z.number().min(0).max(WAIT.longest).optional().describe('Seconds; 0: what holds now.'),
      }),
      outputSchema: agentState,
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    },
    (given, context) =>
      carryOut(async () => {
        const { signal } = context.mcpReq
        return toResult(await getAgent(options, { ...given, signal, onWait: progressOf(context) }))
      }),
  )
}

function addSend({ server, options, carryOut }: Adding): void {
  server.registerTool(
    'agent_send',
    {
      title: 'Send to an agent',
      description: 'Sends a message to an agent that was started, also while it works. Then call agent_get.',
      inputSchema: z.strictObject({ id, message, key }),
      outputSchema: sent,
      annotations: ACTS,
    },
    (given) => carryOut(async () => toResult(await sendToAgent(options, given)), given.key === undefined),
  )
}

function addAnswer({ mcp, server, options, carryOut }: Adding): void {
  server.registerTool(
    'agent_answer',
    {
      title: 'Answer an agent',
      description:
        'Answers a request in "requests" of agent_get. Leave "answer" out to have the person asked by a form. An approval is the decision of the person: give it only if they said so. Secrets belong into no conversation: have them set elsewhere.',
      inputSchema: z.strictObject({
        id: id.describe('`thread` of the request.'),
        request: z.string().min(1).max(LIMITS.threadIdLength).describe('`request` of the request.'),
        answer: z
          .record(z.string(), z.unknown())
          .optional()
          .describe('As the schema in `answer` of the request says.'),
      }),
      outputSchema: answered,
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
    },
    ({ id: thread, request, answer }, context) =>
      carryOut(async () => {
        const outcome = await answerRequest(options, {
          ...{
            id: thread,
            request,
            answer: answer as Answer | undefined,
            canAsk: canAsk(mcp, server, context),
          },
          ...{ filled: filledOf(mcp, context), program: programOf(mcp, server, context) },
        })
        if (outcome.kind === 'ask') return askFor(mcp, outcome.form)
        return toResult({ id: thread, request, accepted: outcome.kind === 'accepted' })
      }),
  )
}

function addCancel({ server, options, carryOut }: Adding): void {
  server.registerTool(
    'agent_cancel',
    {
      title: 'Cancel the work of an agent',
      description: 'Stops what an agent does and drops what waits. agent_send goes on with it later.',
      inputSchema: z.strictObject({
        id,
        reason: z.string().max(1000).optional().describe('Why, for the record.'),
      }),
      outputSchema: cancelled,
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    },
    (given) => carryOut(async () => toResult(await cancelAgent(options, given))),
  )
}

function describeStart({ name, description }: PublishedAgent): string {
  const what = description === null ? '' : `: ${description}`
  return `Starts the agent "${name}"${what}${/[.!?]$/.test(what) ? '' : '.'} Returns an id at once; then call agent_get.`
}

/** As structured content, and as text for clients of older versions. */
function toResult(content: object): CallToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(content) }], structuredContent: { ...content } }
}

/** Tells a client that wants to know that the wait goes on. */
function progressOf({ mcpReq }: CallContext): (status: string) => void {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined) return () => undefined
  let progress = 0
  return (status) => {
    progress += 1
    const params = { progressToken, progress, message: status }
    // A client that has gone needs no news.
    void mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined)
  }
}

const ANSWER = 'answer'

function askFor({ inputRequired }: Package, { message: text, properties, required }: AnswerForm): Result {
  // Flat by its own check.
  const requestedSchema = { type: 'object', properties: { ...properties }, required: [...required] } as const
  const form = inputRequired.elicit({ message: text, requestedSchema: requestedSchema as never })
  return inputRequired({ inputRequests: { [ANSWER]: form } })
}

/** What came back of the form; the content is what the client says. */
function filledOf({ inputResponse }: Package, { mcpReq }: CallContext): Filled | undefined {
  const given = inputResponse(mcpReq.inputResponses, ANSWER)
  if (given.kind !== 'elicit') return undefined
  return given.action === 'accept' ? { content: given.content ?? {} } : 'refused'
}

/** A form needs a client that shows forms; clients before modes say no more than that they ask. */
function canAsk(mcp: Package, server: McpServer, { mcpReq }: CallContext): boolean {
  const said = envelopeOf(mcpReq)[mcp.CLIENT_CAPABILITIES_META_KEY] ?? server.server.getClientCapabilities()
  const elicitation = isObject(said) ? said['elicitation'] : undefined
  return isObject(elicitation) && (isObject(elicitation['form']) || elicitation['url'] === undefined)
}

/** Characters of the name of a client in a record. */
const LONGEST_NAME = 100

function programOf(mcp: Package, server: McpServer, { mcpReq }: CallContext): string {
  const said = envelopeOf(mcpReq)[mcp.CLIENT_INFO_META_KEY] ?? server.server.getClientVersion()
  const name = isObject(said) && typeof said['name'] === 'string' ? said['name'] : ''
  return `MCP client ${name}`.slice(0, LONGEST_NAME).trim()
}

function envelopeOf({ envelope }: CallContext['mcpReq']): Readonly<Record<string, unknown>> {
  return (envelope ?? {}) as Readonly<Record<string, unknown>>
}
