import { execFile, spawn } from 'node:child_process'
import { Socket } from 'node:net'
import { promisify } from 'node:util'

import type { TestWorkflowEnvironment } from '@temporalio/testing'

/** Returns when its parent has died, in whatever way: a pipe that nobody holds any more ends. */
const WATCH = 'read _; kill -9 "$1" 2>/dev/null'

/**
 * Ends the server of an environment with this process, also where nobody closes the environment or the process is killed:
 * the SDK leaves its servers behind then. Where there is neither `ps` nor `sh` they stay. Answers what calls it off.
 */
export async function endWithProcess(server: TestWorkflowEnvironment): Promise<() => Promise<void>> {
  const pid = await childOfPort(portOf(server))
  if (pid === undefined) return async () => undefined
  // In a group of its own, for Ctrl-C reaches all of ours.
  const watch = spawn('sh', ['-c', WATCH, 'sh', String(pid)], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watch.on('error', () => undefined)
  watch.unref()
  // The pipe too would keep this process alive.
  if (watch.stdin instanceof Socket) watch.stdin.unref()
  return async () => void watch.kill('SIGKILL')
}

function portOf(server: TestWorkflowEnvironment): string {
  return server.address.split(':').at(-1) ?? ''
}

/** The SDK does not tell which process its server is: the child of ours that was given that port. */
async function childOfPort(port: string): Promise<number | undefined> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,args=']).catch(() => ({
    stdout: '',
  }))
  const processes = stdout.split('\n').map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line))
  const found = processes.find(
    (line) => Number(line?.[2]) === process.pid && line?.[3]?.split(/[\s=]/).includes(port) === true,
  )
  return found?.[1] === undefined ? undefined : Number(found[1])
}
