import type { Fact } from '../../protocol/facts.js'
import type { ThreadOperation } from '../../protocol/operations.js'
import type { Writer } from '../../store/store.js'
import type { CallGate } from './call-gate.js'

/** What one write did, once it is committed. */
export interface Written {
  readonly operations?: readonly ThreadOperation[]
  readonly events?: readonly Fact[]
}

/** May be tried again after a rollback. `moved`: attachments that are at another path now. */
export type BufferedWrite = (tx: Writer, moved: ReadonlyMap<string, string>) => Promise<Written>

/** What a call wrote, in the order in which it wrote (T9). */
export interface Journal {
  /** @throws a sentence once the call has ended */
  add(write: BufferedWrite): void
  commit(tx: Writer, moved: ReadonlyMap<string, string>): Promise<Required<Written>>
}

export function createJournal(gate: CallGate): Journal {
  const writes: BufferedWrite[] = []
  return {
    add(write) {
      // One that waited for the database while the call ended must not reach the commit.
      gate.assertOpen()
      writes.push(write)
    },
    async commit(tx, moved) {
      const operations: ThreadOperation[] = []
      const events: Fact[] = []
      for (const write of writes) {
        const written = await write(tx, moved)
        operations.push(...(written.operations ?? []))
        events.push(...(written.events ?? []))
      }
      return { operations, events }
    },
  }
}
