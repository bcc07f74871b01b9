import { execFileSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'

import { commitOf } from './driver/old-package.js'
import { figuresOf } from './figures-of.js'
import type { ChaosOptions } from './options.js'
import type { ChaosResult } from './run-chaos.js'

const GIGABYTE = 1024 ** 3
/** What was found is told of with all of it; a result says how much it was. */
const FINDINGS = 20

/** Writes what a run gave, and all that is needed to repeat it, into a file of that folder; answers its path. */
export async function saveResult(
  folder: string,
  result: ChaosResult,
  options: ChaosOptions,
): Promise<string> {
  const { kills, seed, servers, heartbeatTimeout, lanes, old } = options
  const heartbeat = heartbeatTimeout === null ? 'default' : `${heartbeatTimeout / 1000}s`
  const [cpu] = cpus()
  const saved = {
    command: `npm run chaos -- ${options.line.join(' ')}`,
    seed,
    servers,
    heartbeat,
    lanes,
    ...(old !== null && { old, oldCommit: commitOf(old) }),
    date: new Date().toISOString(),
    commit: commit(),
    machine: `${cpus().length} cores, ${cpu?.model ?? 'unknown'}, ${Math.round(totalmem() / GIGABYTE)} GB, Node ${process.version}`,
    figures: Object.fromEntries(figuresOf(result, options).map(({ figure, value }) => [figure, value])),
    findings: result.findings.slice(0, FINDINGS),
  }
  await mkdir(folder, { recursive: true })
  const beside = old === null ? '' : `-old-${old.replaceAll(/[^\w.-]/g, '-')}`
  const path = join(folder, `${servers}-${heartbeat}-${kills}-kills-seed-${seed}${beside}.json`)
  await writeFile(path, `${JSON.stringify(saved, null, 2)}\n`)
  return path
}

/** With a mark if files differ from it. */
function commit(): string {
  const git = (...line: string[]): string => execFileSync('git', line, { encoding: 'utf8' }).trim()
  const changed = git('status', '--porcelain', '--untracked-files=no', '--', 'src', 'chaos', 'package.json')
  return `${git('rev-parse', 'HEAD')}${changed === '' ? '' : ', changed'}`
}
