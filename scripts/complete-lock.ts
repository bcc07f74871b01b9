// `npm run lock`, after a change of dependencies: a registry mirror that lacks the newest binaries of other
// platforms makes `npm install` leave them out of package-lock.json, and then `npm ci` refuses the file
// everywhere. This puts them back by name, version and platform, which is all that `npm ci` needs to pass them by.
import { readFileSync, writeFileSync } from 'node:fs'

interface LockedPackage {
  readonly version?: string
  readonly dev?: boolean
  readonly optional?: boolean
  readonly cpu?: readonly string[]
  readonly libc?: readonly string[]
  readonly os?: readonly string[]
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

export type LockedPackages = Readonly<Record<string, LockedPackage>>

const systems = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'openharmony', 'sunos', 'win32']
const processors = ['arm', 'arm64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'x64']

/** Entries for the optional packages that are wanted by others and are not there. */
export function missingOptionalPackages(packages: LockedPackages): LockedPackages {
  const missing: Record<string, LockedPackage> = {}
  for (const [path, { optionalDependencies = {}, dev }] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(optionalDependencies)) {
      if (!isLocked(packages, path, name))
        missing[`node_modules/${name}`] = platformPackage(name, version, dev)
    }
  }
  return missing
}

// As Node looks for it: beside the package that wants it, then in each folder above.
function isLocked(packages: LockedPackages, path: string, name: string): boolean {
  for (let folder = path; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    if (`${folder === '' ? '' : `${folder}/`}node_modules/${name}` in packages) return true
    if (folder === '') return false
  }
}

function platformPackage(name: string, version: string, dev: boolean | undefined): LockedPackage {
  const words = name.slice(name.indexOf('/') + 1).split('-')
  const system = words.find((word) => systems.includes(word))
  const processor = words.find((word) => processors.includes(word))
  if (!system || !processor || !/^\d+\.\d+\.\d+/.test(version)) {
    throw new Error(
      `Expected a package for one platform at one version, got ${name}@${version}: install it by hand`,
    )
  }
  return {
    version,
    cpu: [processor],
    ...(dev ? { dev } : {}),
    ...libraryOf(words),
    optional: true,
    os: [system],
  }
}

function libraryOf(words: readonly string[]): Pick<LockedPackage, 'libc'> {
  if (words.some((word) => word.startsWith('musl'))) return { libc: ['musl'] }
  return words.some((word) => word.startsWith('gnu')) && words.includes('linux') ? { libc: ['glibc'] } : {}
}

function main(): void {
  const file = new URL('../package-lock.json', import.meta.url)
  const lock = JSON.parse(readFileSync(file, 'utf8')) as { packages: LockedPackages }
  const packages = { ...lock.packages, ...missingOptionalPackages(lock.packages) }
  const sorted = Object.entries(packages).toSorted(([one], [other]) => one.localeCompare(other, 'en'))
  writeFileSync(file, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`)
}

if (import.meta.main) main()
