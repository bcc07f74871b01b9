/** Calls of HTTP tools without a thread. */
import { defineHttpTool } from '../../src/index.js'
import type { HttpToolDefinition, ThreadState, ToolDefinition } from '../../src/index.js'
import type { ToolResult } from '../../src/definitions/tool-result.js'

/** A tool that may reach this machine. */
export const httpTool = (
  definition: Partial<HttpToolDefinition> & { readonly url: string },
): ToolDefinition<never> =>
  defineHttpTool({
    ...{ description: 'Of the shop.', allow: ['127.0.0.1'] },
    ...definition,
  } as HttpToolDefinition) as ToolDefinition<never>

/** Runs its code, as an attempt at a call does. */
export function callHttpTool(
  tool: ToolDefinition<never>,
  { args = {}, state }: { readonly args?: object; readonly state: ThreadState },
  idempotencyKey = 't:c',
): Promise<ToolResult> {
  const reports = { progress: () => undefined, output: () => undefined }
  return tool.execute(state, args as never, {
    ...{ id: 'c', attempt: 1, idempotencyKey, ...reports },
  }) as Promise<ToolResult>
}
