/** How loaded this machine is, as the kernel reports it. What a kernel does not report counts as no load. */
import { readFileSync } from 'node:fs'
import { sizeText } from '@svc/contract/schemas/quotas'
import { type Admission, othersStart } from './boot-queue.ts'

export interface Pressure {
  /** The percentage of the last ten seconds in which some task waited for a processor. */
  cpu: number
  /** The same for memory. */
  memory: number
  /** The percentage in which every task waited for a disk. */
  io: number
  /** Null where the system does not report it. */
  freeBytes: number | null
  totalBytes: number | null
}

export function readPressure(): Pressure {
  const memory = readProc('meminfo')
  const bytes = (name: string) => {
    const kilobytes = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(memory)?.[1]
    return kilobytes === undefined ? null : Number(kilobytes) * 1024
  }
  return {
    cpu: stalled('cpu', 'some'),
    memory: stalled('memory', 'some'),
    io: stalled('io', 'full'),
    freeBytes: bytes('MemAvailable'),
    totalBytes: bytes('MemTotal'),
  }
}

function stalled(resource: 'cpu' | 'memory' | 'io', who: 'some' | 'full'): number {
  return Number(new RegExp(`^${who} avg10=([\\d.]+)`, 'm').exec(readProc(`pressure/${resource}`))?.[1] ?? 0)
}

function readProc(name: string): string {
  try {
    return readFileSync(`/proc/${name}`, 'utf8')
  } catch {
    // Not Linux, or a kernel without pressure stall information.
    return ''
  }
}

/** A session after its first turn. */
const sessionBytes = 400 * 1024 ** 2

/** Memory that new sessions leave to the others, to the server and to its database. */
function reservedBytes(totalBytes: number): number {
  return Math.max(256 * 1024 ** 2, totalBytes / 20)
}

const pressed = { cpu: 60, memory: 10, io: 40 }

/**
 * How many sandboxes may boot at once. A boot mostly computes: more than one per core only fills its waits, which a
 * machine with waiting tasks does not have. One boot may always run, so that every session starts.
 */
function bootsAtOnce(cores: number, load: Pressure): number {
  if (load.memory >= pressed.memory || load.io >= pressed.io) return 1
  return load.cpu >= pressed.cpu ? cores : 2 * cores
}

/** Null when one more session fits beside those that are booting, which do not use their memory yet. */
function missingMemory(booting: number, { freeBytes, totalBytes }: Pressure): string | null {
  if (freeBytes === null || totalBytes === null) return null
  const needed = (booting + 1) * sessionBytes + reservedBytes(totalBytes)
  if (freeBytes >= needed) return null
  return `the machine has ${sizeText(freeBytes)} of free memory and a start needs ${sizeText(needed)}`
}

/** Admits sessions by the load of the machine. The first one may always start: waiting would free nothing. */
export function byPressure(options: {
  cores: number
  read: () => Pressure
  /** Whether sessions run whose end would free memory. */
  othersRun: () => boolean
}): Admission {
  return (booting) => {
    const load = options.read()
    const missing = booting > 0 || options.othersRun() ? missingMemory(booting, load) : null
    if (missing !== null) return missing
    return booting < bootsAtOnce(options.cores, load) ? null : othersStart(booting)
  }
}
