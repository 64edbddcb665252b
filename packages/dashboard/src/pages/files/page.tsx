import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useLocation, useNavigate, useRouter } from '@tanstack/react-router'
import { History, Link2, Search } from 'lucide-react'
import { Suspense, useState } from 'react'
import { lazy } from '../../components/lazy-code.tsx'
import { ApiError } from '../../api.ts'
import { EmptyRepository } from '../../components/empty-repository.tsx'
import { Failure } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { paths } from '../../paths.ts'
import { Button, buttonClass } from '../../ui/form.tsx'
import { Card, Page, Skeleton } from '../../ui/layout.tsx'
import { Opening } from '../../ui/opening.tsx'
import { useShortcuts } from '../../ui/use-shortcuts.ts'
import { PathCrumbs, RefPicker } from './bar.tsx'
import { FileContent, type View } from './file.tsx'
import { Folder } from './folder.tsx'
import { found, type Found } from './queries.ts'

const FindFile = lazy(() => import('./find-file.tsx'), 'default')
const route = getRouteApi('/shell/projects/$project/files')

const keyNames = [
  ['t', 'Find a file'],
  ['y', 'Go to the permalink'],
] as const

export function FilesPage() {
  const { project_id, slug, default_branch } = useProject()
  const { ref, path = '', view } = route.useSearch()
  const [isFinding, setFinding] = useState(false)
  const result = useQuery(found({ projectId: project_id, ref, path }))
  const at = ref ?? default_branch
  const sha = shaOf(result.data)
  const permalink = usePermalink({ sha, path, blame: view === 'blame' })
  useShortcuts({ t: () => setFinding(true), y: permalink.show }, keyNames)
  return (
    <Page
      title="Files"
      aside={
        <Button kind="quiet" title="Find a file (t)" onClick={() => setFinding(true)}>
          <Search aria-hidden className="size-3.5" />
          Find file
        </Button>
      }
    >
      <div className="flex flex-col gap-4">
        <div className="flex flex-wrap items-center gap-2">
          <RefPicker at={at} path={path} to={paths.files} />
          <PathCrumbs at={at} path={path} />
          <Link
            to={paths.commits}
            params={{ project: slug }}
            search={{ ref: at, ...(path && { path }) }}
            className={buttonClass('quiet')}
          >
            <History aria-hidden className="size-3.5" />
            History
          </Link>
          <Button
            kind="quiet"
            title="Copy a link to this commit (y changes the address to it)"
            disabledReason={sha === null ? 'The files are still loading.' : null}
            onClick={() => void permalink.copy()}
          >
            <Link2 aria-hidden className="size-3.5" />
            <span aria-live="polite">{permalink.isCopied ? 'Copied' : 'Copy permalink'}</span>
          </Button>
        </div>
        <Content result={result} at={at} path={path} view={view} />
      </div>
      {isFinding && (
        <Suspense fallback={<Opening />}>
          <FindFile at={at} onClose={() => setFinding(false)} />
        </Suspense>
      )}
    </Page>
  )
}

interface Result {
  data: Found | undefined
  error: unknown
  refetch: () => unknown
}

function Content({ result, at, path, view }: { result: Result; at: string; path: string; view: View | undefined }) {
  const project = useProject()
  const { data, error, refetch } = result
  if (error instanceof ApiError && error.code === 'ref_not_found' && at === project.default_branch && path === '')
    return (
      <Card>
        <EmptyRepository project={project} />
      </Card>
    )
  if (data === undefined && error !== null && error !== undefined)
    return <Failure error={error} retry={() => void refetch()} />
  if (data === undefined)
    return (
      <Card>
        <Skeleton what="the files" rows={8} />
      </Card>
    )
  return 'tree' in data ? (
    <Folder key={path} tree={data.tree} at={at} />
  ) : (
    // A reload of the same file keeps an edit.
    <FileContent key={`${view === 'edit' ? '' : data.file.sha} ${path}`} file={data.file} at={at} view={view} />
  )
}

function shaOf(data: Found | undefined): string | null {
  if (data === undefined) return null
  return 'tree' in data ? data.tree.sha : data.file.sha
}

/** The address of the same place and lines at its commit, which never changes. */
function usePermalink({ sha, path, blame }: { sha: string | null; path: string; blame: boolean }) {
  const { slug } = useProject()
  const router = useRouter()
  const navigate = useNavigate()
  const { hash } = useLocation()
  const [copied, setCopied] = useState<string | null>(null)
  const target = {
    to: paths.files,
    params: { project: slug },
    search: { ref: sha ?? '', ...(path && { path }), ...(blame && { view: 'blame' as const }) },
    hash,
  }
  const { href } = router.buildLocation(target)
  return {
    isCopied: copied === href,
    async copy() {
      await navigator.clipboard.writeText(`${location.origin}${href}`)
      setCopied(href)
    },
    show() {
      if (sha !== null) void navigate({ ...target, replace: true })
    },
  }
}
