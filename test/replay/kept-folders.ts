import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { readHistories } from '../../src/testing/record-histories.js'
import type { FoundRun } from '../../src/testing/record-histories.js'
import type { KeptEvent } from './mutations.js'

/** Where histories are kept: one folder for each released version, and one for what comes next. */
export const HISTORIES = fileURLToPath(new URL('../../histories', import.meta.url))

/** What is not released yet: the only folder that `npm run record` writes. */
export const UNRELEASED = 'unreleased'

/** All of them, oldest version first, what is not released last. */
export async function keptFolders(root: string): Promise<readonly string[]> {
  const entries = await readdir(root, { withFileTypes: true })
  const names = entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
  return names.toSorted((one, other) => one.localeCompare(other, 'en', { numeric: true }))
}

export interface KeptHistory extends FoundRun {
  readonly history: { readonly events: readonly KeptEvent[] }
}

/** The runs in all folders, in their order. */
export async function keptHistories(): Promise<readonly KeptHistory[]> {
  const kept: KeptHistory[] = []
  for (const folder of await keptFolders(HISTORIES))
    // Written by `recordHistories`, of Temporal's own JSON.
    for await (const run of readHistories(join(HISTORIES, folder))) kept.push(run as KeptHistory)
  return kept
}
