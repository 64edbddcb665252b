/** Above every page of the files: the ref, the path, and the ways on. */
import { Menu } from '@base-ui/react/menu'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { ChevronDown, GitBranch } from 'lucide-react'
import { paths } from '../../paths.ts'
import { MenuChoice, MenuPopup } from '../../ui/menu.tsx'
import { visibleName } from '../../ui/sanitizing-jsx/visible.ts'
import { branches } from '../projects/queries.ts'
import { useProject } from '../../components/shell/project-shell.tsx'
import { shortCommit } from '../../components/short-commit.ts'

export const isSha = (ref: string) => /^[0-9a-f]{40,64}$/.test(ref)
const shortOf = (ref: string) => (isSha(ref) ? shortCommit(ref) : visibleName(ref))

export function RefPicker({
  at,
  path,
  to,
}: {
  at: string
  path: string
  to: typeof paths.files | typeof paths.commits
}) {
  const { project_id, slug } = useProject()
  const { data } = useQuery(branches(project_id))
  const navigate = useNavigate()
  const names = (data?.branches ?? []).map(({ name }) => name)
  const options = (names.includes(at) ? names : [at, ...names]).map((name) => [name, shortOf(name)] as const)
  return (
    <Menu.Root>
      <Menu.Trigger className="inline-flex min-h-control max-w-60 min-w-0 items-center gap-1.5 rounded-md border border-edge bg-raised px-2.5 text-sm font-medium hover:bg-hover">
        <GitBranch aria-hidden className="size-3.5 flex-none text-dim" />
        <span className="sr-only">Branch or commit:</span>
        <span className="truncate">{shortOf(at)}</span>
        <ChevronDown aria-hidden className="size-3.5 flex-none text-dim" />
      </Menu.Trigger>
      <MenuPopup align="start">
        <MenuChoice
          label="Branch"
          options={options}
          value={at}
          onChange={(ref) => void navigate({ to, params: { project: slug }, search: { ref, ...(path && { path }) } })}
          closeOnClick
        />
      </MenuPopup>
    </Menu.Root>
  )
}

/** The folders of a path as links, and its name. */
export function PathCrumbs({ at, path }: { at: string; path: string }) {
  const { slug, name } = useProject()
  const parts = path === '' ? [] : path.split('/')
  return (
    <nav aria-label="Path" className="min-w-0 flex-1 basis-48">
      <ol className="flex flex-wrap items-center font-mono text-sm wrap-anywhere">
        {[name, ...parts].map((part, index) => (
          <li key={index} className="flex items-center">
            {index > 0 && (
              <span aria-hidden className="px-1 text-faint">
                /
              </span>
            )}
            {index === parts.length ? (
              <span aria-current="page" className="font-semibold">
                {visibleName(part)}
              </span>
            ) : (
              <FileLink project={slug} at={at} path={parts.slice(0, index).join('/')}>
                {visibleName(part)}
              </FileLink>
            )}
          </li>
        ))}
      </ol>
    </nav>
  )
}

export function FileLink({
  project,
  at,
  path,
  line,
  className = 'text-accent hover:underline',
  children,
}: {
  project: string
  at: string
  path: string
  line?: number
  className?: string
  children: React.ReactNode
}) {
  return (
    <Link
      to={paths.files}
      params={{ project }}
      search={{ ref: at, ...(path && { path }) }}
      {...(line === undefined ? {} : { hash: `L${line}` })}
      className={className}
    >
      {children}
    </Link>
  )
}
