// `node scripts/locked-packages.ts FOLDER...`: the packages of folders that have a lock file of their own: the generator of the
// documents, and examples that are made with a framework (decision 95). Packages that are those of the lock file stay.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import process from 'node:process'

const ROOT = dirname(import.meta.dirname)

/** Installs them by the lock file, and this package as it is built beside those that want it. @throws Error where npm fails, which has said why */
export function installLockedPackages(folder: string): void {
  const modules = join(folder, 'node_modules')
  const stamp = join(modules, '.everthread-lock')
  const lock = readFileSync(join(folder, 'package-lock.json'), 'utf8')
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== lock) {
    const args = ['ci', '--no-audit', '--no-fund', '--loglevel=error']
    const { status, error } = spawnSync('npm', args, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] })
    if (error !== undefined) throw error
    if (status !== 0)
      throw new Error(`Expected \`npm ci\` in ${relative(ROOT, folder)} to end well, got ${status}.`)
    writeFileSync(stamp, lock)
  }
  placeOurs(folder)
}

/** As npm places it for a user: a framework takes what a link leads to for a part of the application. */
function placeOurs(folder: string): void {
  const { peerDependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly peerDependencies?: Readonly<Record<string, string>>
  }
  const dist = join(ROOT, 'dist')
  if (!('everthread' in peerDependencies) || !existsSync(dist)) return
  const place = join(folder, 'node_modules', 'everthread')
  rmSync(place, { recursive: true, force: true })
  cpSync(dist, join(place, 'dist'), { recursive: true })
  cpSync(join(ROOT, 'package.json'), join(place, 'package.json'))
}

if (import.meta.main) for (const folder of process.argv.slice(2)) installLockedPackages(join(ROOT, folder))
