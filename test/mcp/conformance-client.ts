/** `node conformance-client.ts URL`: calls the tools of a scenario of the official suite, as a thread would. */
import { ToolError } from '../../src/index.js'
import { mcpServer } from '../../src/mcp/index.js'
import { isObject } from '../../src/protocol/values.js'
import type { JsonObject } from '../../src/protocol/values.js'
import type { SourcePending, SourceTool } from '../../src/index.js'
import type { OAuthOptions } from '../../src/mcp/index.js'
import { memoryLogins } from './memory-logins.js'

const url = process.argv.at(-1) ?? ''
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? ''
const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as {
  readonly client_id?: string
  readonly client_secret?: string
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: JsonObject }[]
}

const { signal } = new AbortController()
const user = { threadId: 'suite', agent: 'suite', account: null, user: null, signal }
const isLogin = scenario.startsWith('auth/')
const source = mcpServer({
  name: 'suite',
  url,
  tools: 'all',
  ...(isLogin && { oauth: await oauthOptions() }),
})

/** A client that was registered by hand belongs to one authorization server, which an operator knows. */
async function oauthOptions(): Promise<OAuthOptions> {
  const { client_id: clientId, client_secret: clientSecret } = context
  return {
    redirectUrl: 'http://localhost:3000/callback',
    clientMetadataUrl: 'https://conformance-test.local/client-metadata.json',
    allow: ['localhost', '127.0.0.1'],
    logins: memoryLogins(),
    ...(clientId !== undefined && { clientId }),
    ...(clientSecret !== undefined && { clientSecret, issuer: await issuerOf(url) }),
  }
}

async function issuerOf(server: string): Promise<string> {
  const { origin, pathname } = new URL(server)
  const response = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`)
  const { authorization_servers: [first = ''] = [] } = (await response.json()) as {
    readonly authorization_servers?: readonly string[]
  }
  return first
}

/** What the browser of a person who allows it brings back. */
async function visit(address: string): Promise<JsonObject> {
  const response = await fetch(address, { redirect: 'manual' })
  return Object.fromEntries(new URL(response.headers.get('location') ?? '', url).searchParams)
}

/** An error of a call is a result for a model, and a thread goes on. */
async function call(tool: SourceTool, args: JsonObject): Promise<void> {
  try {
    await callOnce(tool, args)
  } catch (error) {
    if (!ToolError.isInstance(error)) throw error
  }
}

async function callOnce(tool: SourceTool, args: JsonObject): Promise<void> {
  const reports = { progress: () => undefined, output: () => undefined }
  const made = { ...user, ...reports, tool, args, id: 'call_1_1_0', attempt: 1, idempotencyKey: 'suite' }
  let answer: unknown = await source.call(made)
  for (let round = 0; round < 12 && isPending(answer); round += 1) {
    const { form, resume, connect } = answer
    const result = connect === undefined ? valuesOf(form ?? {}) : await visit(connect.url)
    const given = form === undefined ? null : ({ status: 'success', result } as const)
    answer = await source.resume?.({ ...made, resume, answer: given })
  }
}

function isPending(answer: unknown): answer is SourcePending {
  return isObject(answer) && answer['status'] === 'pending'
}

const BY_TYPE: Readonly<Record<string, JsonObject[string]>> = {
  ...{ string: 'text', number: 3, integer: 3, boolean: true, array: [], object: {} },
}

/** A value for each property of a schema. */
function valuesOf({ properties }: JsonObject): JsonObject {
  const entries = Object.entries(isObject(properties) ? properties : {})
  return Object.fromEntries(entries.map(([name, schema]) => [name, valueOf(schema)]))
}

function valueOf(schema: unknown): JsonObject[string] {
  const type = isObject(schema) ? schema['type'] : undefined
  return (typeof type === 'string' ? BY_TYPE[type] : undefined) ?? 'text'
}

let tools = await source.list(user)
for (const tool of tools.filter(({ changesList }) => changesList === true)) {
  await call(tool, {})
  tools = (await source.list(user)).filter(({ changesList }) => changesList !== true)
}
if (scenario === 'json-schema-2020-12-preservation') {
  const [focal, echo] = tools
  if (focal !== undefined && echo !== undefined) await call(echo, { schema: focal.inputSchema })
} else if (context.toolCalls !== undefined) {
  for (const { name, arguments: args } of context.toolCalls) {
    const tool = tools.find((one) => one.name === name)
    if (tool !== undefined) await call(tool, args)
  }
} else for (const tool of tools) await call(tool, valuesOf(tool.inputSchema))
await source.close?.()
