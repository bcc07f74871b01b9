/** `node conformance-client.ts URL`: calls the tools of a scenario of the official suite, as a thread would. */
import { ToolError } from '../../src/index.js'
import { mcpServer } from '../../src/mcp/index.js'
import { isObject } from '../../src/protocol/values.js'
import type { JsonObject } from '../../src/protocol/values.js'
import type { SourcePending, SourceTool } from '../../src/index.js'

const url = process.argv.at(-1) ?? ''
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? ''
const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as {
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: JsonObject }[]
}

const { signal } = new AbortController()
const user = { threadId: 'suite', agent: 'suite', account: null, user: null, signal }
const source = mcpServer({ name: 'suite', url, tools: 'all' })

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
  for (let round = 0; round < 5 && isPending(answer); round += 1) {
    const { form, resume } = answer
    const given = form === undefined ? null : ({ status: 'success', result: valuesOf(form) } as const)
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

const tools = await source.list(user)
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
