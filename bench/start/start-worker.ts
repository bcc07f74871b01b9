import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { setTimeout as delay } from 'node:timers/promises'

import type { Client } from '@temporalio/client'

const PROJECT = new URL('../..', import.meta.url)
/** How often the server is asked for pollers: each time that is measured may be this much too long. */
const PAUSE = 5
const DEADLINE = 60_000
/** Of `TaskQueueType`. */
const WORKFLOW = 1

/** A worker process that is run from JavaScript: to strip the types is no part of a start. */
export function workerCode(name: 'bare' | 'thread'): string {
  return stripTypeScriptTypes(readFileSync(new URL(`${name}-process.ts`, import.meta.url), 'utf8'))
}

interface WorkerStart {
  readonly code: string
  /** Where it runs. @default the project, whose packages it finds */
  readonly folder?: string
  readonly taskQueue: string
  /** What the process finds in its environment. */
  readonly options: unknown
}

/** Milliseconds from the start of a process until the server has a poll for workflow tasks from it; ends the process. */
export async function timeToFirstPoll(client: Client, start: WorkerStart): Promise<number> {
  const started = performance.now()
  const child = spawn(process.execPath, ['--input-type=module', '--eval', start.code], {
    cwd: start.folder ?? PROJECT,
    env: { ...process.env, BENCH_START: JSON.stringify(start.options) },
    stdio: ['ignore', process.stderr.fd, 'inherit'],
  })
  const gone = once(child, 'exit')
  try {
    while (performance.now() - started < DEADLINE) {
      if (child.exitCode !== null) throw new Error(`Expected a worker, got its end (${child.exitCode}).`)
      if (await isPolled(client, start.taskQueue)) return performance.now() - started
      await delay(PAUSE)
    }
    throw new Error(`Expected a worker that polls within ${DEADLINE} ms.`)
  } finally {
    child.kill('SIGKILL')
    await gone
  }
}

async function isPolled({ workflowService, options }: Client, taskQueue: string): Promise<boolean> {
  const { pollers } = await workflowService.describeTaskQueue({
    namespace: options.namespace,
    taskQueue: { name: taskQueue },
    taskQueueType: WORKFLOW,
  })
  return pollers.length > 0
}
