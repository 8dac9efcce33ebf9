import resource, sys, time, ffkit
data=sys.argv[1]
b=time.time()
loader = ffkit.Loader(ffkit.Dataset(data, 'train'), batch_size=256, num_threads=2, order='shuffle', tail="exact")
n=sum(len(r['image']) for r in loader)
w=time.time()-b
u=resource.getrusage(resource.RUSAGE_SELF)
print(f"{n/w:.0f}/s wall {w:.2f} user {u.ru_utime:.2f} sys {u.ru_stime:.2f} faults {u.ru_minflt}")
