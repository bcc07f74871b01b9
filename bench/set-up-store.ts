import { execFileSync } from 'node:child_process'

/** Makes the schema in an empty PostgreSQL database, with the command that everybody makes it with. */
export function setUpStore(temporal: string, database: string): void {
  execFileSync(process.execPath, ['dist/cli/everthread.js', 'setup'], {
    cwd: new URL('..', import.meta.url),
    env: { ...process.env, TEMPORAL_ADDRESS: temporal, EVERTHREAD_DATABASE_URL: database },
    stdio: ['ignore', process.stderr.fd, 'inherit'],
  })
}
