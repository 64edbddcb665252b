/** Lets a program learn of the work of this package, such as for traces. It gets names and outcomes: no argument, path or output. */
import type { Lane } from './child-queue.ts'

export interface GitObserver {
  /** A process, or a question to a pooled one, waits for its place. Null: it is not observed. */
  process(facts: { command: string; lane: Lane; isPooled: boolean }): ObservedProcess | null
  /** A merge, which takes several processes. */
  work<T>(name: string, act: () => Promise<T>): Promise<T>
}

export interface ObservedProcess {
  started(): void
  ended(outcome: { failure: string | null; code: number | null }): void
}

let observer: GitObserver | null = null

/** There is one observer for the whole process, as for the lanes. Null ends the observation. */
export function observeGit(by: GitObserver | null): void {
  observer = by
}

export function observeProcess(args: string[], lane: Lane, isPooled = false): ObservedProcess | null {
  return observer?.process({ command: commandOf(args), lane, isPooled }) ?? null
}

export function observeWork<T>(name: string, act: () => Promise<T>): Promise<T> {
  return observer === null ? act() : observer.work(name, act)
}

/** The word for the subcommand: what comes before it are options. */
export function commandOf(args: string[]): string {
  return args.find((arg) => !arg.startsWith('-')) ?? ''
}
