import { fork } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** A process of chaos that can be killed at any moment of its life, its start too. */
export interface ChaosProcess {
  readonly pid: number
  send(order: object): void
  alive(): boolean
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>
  /** SIGTERM; resolves when it is gone. */
  shutDown(): Promise<void>
  readonly gone: Promise<void>
  /** Resolves when it has worked for that long, or is gone, or does not come to it. */
  lived(milliseconds: number): Promise<void>
}

interface Starting<Report extends { readonly kind: string }> {
  readonly module: string
  /** Folder of another package that has chaos in it. */
  readonly root?: string
  readonly place: object
  /** File that gets what it prints. */
  readonly log: string
  readonly heard: (report: Report) => void
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Longer than a worker gives to what it has in flight. */
const PATIENCE = 20_000
const LONGEST_START = 60_000

export function startChaosProcess<Report extends { readonly kind: string }>({
  module,
  root = ROOT,
  place,
  log,
  heard,
}: Starting<Report>): ChaosProcess {
  const path = join(root, 'chaos', 'processes', `${module}.ts`)
  // Loads the sources as this process does: what resolves them is in its own arguments, by paths of the package.
  const child = fork(path, [JSON.stringify(place)], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => appendFileSync(log, `[${child.pid}] ${chunk.toString()}`))
  const running = new Promise<void>((resolve) => {
    child.on('message', (message) => {
      const report = message as Report
      if (report.kind === 'running') resolve()
      heard(report)
    })
  })
  child.on('error', () => undefined)
  const killWithUs = (): void => void child.kill('SIGKILL')
  process.once('exit', killWithUs)
  const gone = once(child, 'exit').then(([code, signal]) => {
    process.off('exit', killWithUs)
    appendFileSync(log, `[${child.pid}] ended by ${String(signal ?? code)}\n`)
  })
  return {
    pid: child.pid ?? 0,
    send: (order) => void (child.connected && child.send(order)),
    alive: () => child.exitCode === null && child.signalCode === null,
    async kill() {
      child.kill('SIGKILL')
      await gone
    },
    async shutDown() {
      child.kill('SIGTERM')
      const impatience = setTimeout(() => child.kill('SIGKILL'), PATIENCE)
      await gone
      clearTimeout(impatience)
    },
    gone,
    lived: (milliseconds) =>
      Promise.race([
        running.then(() => delay(milliseconds)),
        gone,
        delay(LONGEST_START, undefined, { ref: false }),
      ]),
  }
}
