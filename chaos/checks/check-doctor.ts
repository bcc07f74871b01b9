import { runCommand } from '../driver/chaos-servers.js'
import type { Finding } from '../finding.js'

interface Place {
  readonly address: string
  readonly database: string
  readonly store: { readonly blobs: string; readonly secretKey: string }
}

/** `everthread doctor`, as people run it, finds nothing. */
export function checkDoctor({ address, database, store }: Place): readonly Finding[] {
  const ran = runCommand(['doctor', '--json'], {
    TEMPORAL_ADDRESS: address,
    EVERTHREAD_DATABASE_URL: database,
    EVERTHREAD_BLOBS_URL: store.blobs,
    EVERTHREAD_SECRET_KEY: store.secretKey,
  })
  return doctorFindings(ran)
}

/** Each line of it; nothing of a command that failed is no agreement. */
export function doctorFindings({ code, output }: ReturnType<typeof runCommand>): readonly Finding[] {
  const lines = output.split('\n').filter((line) => line !== '')
  if (code !== 0 && lines.length === 0) lines.push(`exit code ${code}`)
  return lines.map((problem) => ({ kind: 'wrong', threadId: '', id: 'doctor', problem }))
}
