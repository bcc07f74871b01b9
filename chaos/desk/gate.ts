import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Something between the processes of a run that has happened: once open it is open for all of them, killed ones' heirs too. */
export interface Gate {
  readonly threadId: string
  /** `held`: a call of the thread waits. `full`: it need not wait any more. */
  readonly kind: 'held' | 'full'
}

export function openGate(folder: string, gate: Gate): void {
  writeFileSync(pathOf(folder, gate), '')
}

export function isOpen(folder: string, gate: Gate): boolean {
  return existsSync(pathOf(folder, gate))
}

function pathOf(folder: string, { threadId, kind }: Gate): string {
  return join(folder, `${threadId}.${kind}`)
}
