import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

import { inject } from 'vitest'

import { IS_LONG } from '../../support/long.js'
import type { Death } from './death.js'

/** For what is loaded beside the program: Node runs sources themselves. */
const HOOKS = new URL('../../store/processes/resolve-typescript.ts', import.meta.url).href

const LEAN_SANDBOX = fileURLToPath(new URL('../../support/lean-sandbox.cjs', import.meta.url))

export interface WorkerPlace {
  readonly address: string
  readonly namespace: string
  readonly taskQueue: string
  readonly store: { readonly database: string; readonly blobs: string; readonly secretKey: string }
  readonly modelUrl: string
  /** Whose agents it has. @default 'integration' */
  readonly desk?: 'integration' | 'endings' | 'queues' | 'page' | 'mcp' | 'workflows'
  /** The threads' task queue, that other workers' queues are named after. @default the worker's own */
  readonly threadQueue?: string
  /** False: a worker of tools and models. @default true */
  readonly workflows?: boolean
  readonly effects: string
  /** Of the MCP server of a test. */
  readonly mcpUrl?: string
  /** It wants logins, and sends people back to this page. */
  readonly mcpRedirectUrl?: string
  /** The workflow code, bundled once for all worker processes of a file. */
  readonly codePath: string
  /** Milliseconds that running activities get after SIGTERM. */
  readonly graceTime: number
  /** 0: every workflow task replays the history. @default Temporal's own */
  readonly maxCachedWorkflows?: number
  /** How many workflow tasks at a time. @default Temporal's own */
  readonly workflowTasks?: number
  /** Its agents and its deployment version. @default '1', and no deployment */
  readonly version?: string
  readonly deploymentName?: string
  /** How many steps an activity does by itself. @default the end of its run only */
  readonly runAhead?: number
  /** Its activities are those of `createWorker`: it cannot die at a commit. */
  readonly ownActivities?: boolean
  /** Loaded before anything else of the process. */
  readonly preload?: string
  /** Its workflow code runs in a thread of its own, as that of users. `startWorkerProcess` decides. */
  readonly hasWorkflowThread?: boolean
}

export type WorkerOrder = { readonly kind: 'run' } | { readonly kind: 'die'; readonly at: Death }

export interface WorkerProcess {
  readonly pid: number
  /** Begins to take tasks. */
  run(): Promise<void>
  /** Tells it where to kill itself. */
  dieAt(death: Death): void
  /** kill -9, now. */
  kill(): Promise<void>
  /** SIGTERM, as a deploy sends it. */
  shutDown(): Promise<void>
  /** SIGTERM; resolves when it has begun to shut down. */
  drain(): Promise<void>
  /** Resolves with the signal or exit code that ended it. */
  readonly gone: Promise<NodeJS.Signals | number>
}

/**
 * Starts a worker process that is ready to run, and takes no task before it is told to. A kill ends the thread of workflow code
 * with its process, and that thread takes a third of the worker's processor time: it is there where the worker is a user's in
 * all else, and with EVERTHREAD_TEST_LONG=1.
 */
export async function startWorkerProcess(place: WorkerPlace): Promise<WorkerProcess> {
  const { preload } = place
  const hasWorkflowThread = IS_LONG || preload !== undefined || place.ownActivities === true
  const child = fork(inject('workerProgramPath'), [JSON.stringify({ ...place, hasWorkflowThread })], {
    execArgv: [
      ...(hasWorkflowThread ? [] : ['--require', LEAN_SANDBOX]),
      ...(preload === undefined ? [] : ['--import', HOOKS, '--import', preload]),
    ],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let output = ''
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const gone = once(child, 'exit').then(([code, signal]) => (signal ?? code) as NodeJS.Signals | number)
  const said = async (word: string): Promise<void> => {
    const heard = new Promise<'heard'>((resolve) => {
      child.on('message', (message) => message === word && resolve('heard'))
    })
    const first = await Promise.race([heard, gone])
    if (first !== 'heard')
      throw new Error(`Expected the worker to be ${word}, got its end (${first}):\n${output}`)
  }
  const order = (sent: WorkerOrder): void => void child.send(sent)
  await said('ready')
  return {
    pid: child.pid ?? 0,
    async run() {
      const running = said('running')
      order({ kind: 'run' })
      await running
    },
    dieAt: (at) => order({ kind: 'die', at }),
    async kill() {
      child.kill('SIGKILL')
      await gone
    },
    async drain() {
      const stopping = said('stopping')
      child.kill('SIGTERM')
      await stopping
    },
    async shutDown() {
      child.kill('SIGTERM')
      await gone
    },
    gone,
  }
}
