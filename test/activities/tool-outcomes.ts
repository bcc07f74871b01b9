import type { ToolResult } from '../../src/index.js'
import type { Message } from '../../src/protocol/message.js'
import type { JsonValue } from '../../src/protocol/values.js'
import { getValue } from '../../src/store/threads/variables.js'
import type { ActivityDesk } from './activity-desk.js'

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
