import { spawn } from 'node:child_process'
import { Socket } from 'node:net'

/** Waits for the end of its input, which comes with any death of its parent, and kills the server. */
const WATCH = 'read _; kill -9 "$1" 2>/dev/null'

/** Kills a process when this one ends, however that is. Without `sh` it stays. Returns a function that stops the watch. */
export function endWithThisProcess(pid: number): () => void {
  // In a process group of its own, because Ctrl-C reaches all processes of ours.
  const watch = spawn('sh', ['-c', WATCH, 'sh', String(pid)], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watch.on('error', () => undefined)
  watch.unref()
  // The pipe would keep this process alive, too.
  if (watch.stdin instanceof Socket) watch.stdin.unref()
  return () => void watch.kill('SIGKILL')
}
