import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { inject } from 'vitest'
import { runCommand } from '../../../src/cli/run-command.js'
import { openTerminal } from '../../../src/cli/terminal.js'
import { makePlace } from '../../support/test-store.js'

/** What commands find in the environment of a person, until the test file ends: a server, a store, a key. */
export interface CliPlace {
  readonly folder: string
  close(): Promise<void>
}

export async function openCliPlace(): Promise<CliPlace> {
  const folder = await mkdtemp(join(tmpdir(), 'everthread-cli-'))
  const { place, remove } = await makePlace()
  Object.assign(process.env, {
    TEMPORAL_ADDRESS: inject('devServerAddress'),
    EVERTHREAD_DATABASE_URL: place.database,
    EVERTHREAD_BLOBS_URL: place.blobs,
    EVERTHREAD_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    EVERTHREAD_TASK_QUEUE: folder,
  })
  return {
    folder,
    async close() {
      await remove()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** A person at a terminal: what is on the screen, and what is typed. */
export interface Screen {
  readonly shown: string
  type(line: string): void
  /** Ctrl-D. */
  end(): void
  /** Ctrl-C. */
  interrupt(): void
  /** Runs a command to its end; answers its exit code. */
  run(...line: readonly string[]): Promise<number>
  close(): void
}

export function openScreen(): Screen {
  const input = Object.assign(new PassThrough(), { isTTY: true })
  const output = new PassThrough()
  let shown = ''
  output.on('data', (chunk: Buffer) => (shown += chunk.toString()))
  let interrupted: () => void = () => undefined
  const terminal: ReturnType<typeof openTerminal> = {
    ...openTerminal({ input, output, problems: output }),
    onInterrupt(listener) {
      interrupted = listener
      return () => undefined
    },
  }
  return {
    get shown() {
      return shown
    },
    type: (line) => void input.write(`${line}\n`),
    end: () => void input.end(),
    interrupt: () => interrupted(),
    run: (...line) => runCommand(line, terminal),
    close: () => terminal.close(),
  }
}
