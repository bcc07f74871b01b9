import { executeTool } from '../../src/activities/execute-tool/execute-tool.js'
import type { ActivityDependencies } from '../../src/activities/dependencies.js'
import type { JsonValue } from '../../src/protocol/json.js'
import type { ExecuteToolAnswer, ExecuteToolInput } from '../../src/protocol/activities.js'
import type { Message } from '../../src/protocol/message.js'
import type { ToolResult } from '../../src/index.js'
import { getValue } from '../../src/store/values.js'
import { attempt, madeCalls } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'

/** One attempt at a tool call. */
export function runTool(
  dependencies: ActivityDependencies,
  input: ExecuteToolInput,
  environment = attempt(),
): Promise<ExecuteToolAnswer> {
  return environment.run((given: ExecuteToolInput) => executeTool(dependencies, given), input)
}

/** One call that the model has made. */
export async function madeCall(
  desk: ActivityDesk,
  name: string,
  args: unknown = {},
): Promise<ExecuteToolInput> {
  const [input] = await madeCalls(desk, [{ name, args }])
  if (input === undefined) throw new Error('Expected a call.')
  return input
}

/** The row of the last tool result. */
export async function lastResult(desk: ActivityDesk): Promise<Message | undefined> {
  return (await desk.transcript()).findLast(({ role }) => role === 'tool')
}

export function storedValue(desk: ActivityDesk, key: string): Promise<JsonValue | undefined> {
  return desk.store.read((db) => getValue(db, 't', key))
}

export function success(text: string): ToolResult {
  return { status: 'success', result: text }
}
