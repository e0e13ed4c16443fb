# Where workloads name the images that recipes of this project make.
IMAGES = Path("build/images")


rule build_image:
    input:
        recipes=code("examples/images/**/*"),
        programs=code("src/trimtab/workloads/**/*"),
        script=here(["scripts/build_image.sh"]),
    output:
        archive=IMAGES / "{image}.tar",
    log:
        "logs/images/{image}.log",
    threads: 1
    resources:
        mem_mb=growing(2000),
        runtime=growing(60),
        gpu=0,
    shell:
        "exec {input.script:q} {wildcards.image:q} {output.archive:q} > {log:q} 2>&1"
