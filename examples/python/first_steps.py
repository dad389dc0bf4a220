import manymeans

points = manymeans.read("data/s1.txt.gz").points  # 5,000 x 2
choice = manymeans.choose_k(points)  # judges k = 2 to 20
kmeans = manymeans.KMeans(choice.k, n_init=20, random_state=0).fit(points)
print(choice.answer, f"inertia {kmeans.inertia_:.4g}", sep="\n")
print(manymeans.cards(kmeans, points)[0])
