import type { MessageRow, ThreadRow } from './rows.js'

/** A row that waits for its place. */
export function stage(
  thread: ThreadRow,
  row: Pick<MessageRow, 'id' | 'role' | 'by'> & Partial<MessageRow>,
): void {
  if (thread.messages.has(row.id)) return
  thread.messages.set(row.id, { status: 'pending', position: null, ...row })
}

/** T3: a place for each that has none, in this order; what is unknown, delivered or ended is passed over. */
export function deliver(thread: ThreadRow, ids: readonly string[], run?: number): readonly MessageRow[] {
  return ids.flatMap((id) => {
    const row = thread.messages.get(id)
    if (row?.status !== 'pending' || row.position !== null) return []
    place(thread, row)
    if (run !== undefined) row.run = run
    return [row]
  })
}

/** Puts a row at the end of the transcript. */
function place(thread: ThreadRow, row: MessageRow): void {
  thread.positions += 1
  row.position = thread.positions
  row.status = 'delivered'
}

/** A row that has its place at once. */
export function say(thread: ThreadRow, row: Pick<MessageRow, 'role' | 'by'>): string {
  const id = `${thread.id}:row-${thread.positions + 1}`
  const added: MessageRow = { id, status: 'pending', position: null, ...row }
  thread.messages.set(id, added)
  place(thread, added)
  return id
}

export function lastPlaced(thread: ThreadRow): MessageRow | undefined {
  let last: MessageRow | undefined
  for (const row of thread.messages.values())
    if (row.position !== null && row.by !== 'runtime' && row.position > (last?.position ?? 0)) last = row
  return last
}

/** T8: what waits is rejected, by the thread and not by its queue. */
export function rejectWaiting(thread: ThreadRow): void {
  for (const row of thread.messages.values()) if (row.status === 'pending') row.status = 'rejected'
}
