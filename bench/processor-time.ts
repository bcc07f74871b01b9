import { readFile } from 'node:fs/promises'

/** Linux counts in hundredths of a second, whatever its kernel does. */
const TICK = 10

/** Milliseconds of processor time of this process, all threads. */
export function processorTime(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** The same of another process. @throws where there is no Linux */
export async function processorTimeOf(pid: number): Promise<number> {
  const file = `/proc/${pid}/stat`
  const stat = await readFile(file, 'utf8').catch(() => {
    throw new Error(`Expected Linux, which has the processor time of a process in ${file}.`)
  })
  // What the process is called may hold blanks; behind it user and system time are the 12th and 13th value.
  const values = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(values[11]) + Number(values[12])) * TICK
}
